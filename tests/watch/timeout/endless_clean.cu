// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  volatile float x = 2;
  for (int i = 0; i < 1000; ++i) x = x * 1.0f;
  out[threadIdx.x] = x + in[0];
}
