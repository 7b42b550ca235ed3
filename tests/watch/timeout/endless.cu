// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: timeout error
extern "C" __global__ void k(const float *in, float *out) {
  volatile float x = in[0];
  while (x != -1e30f) x = x * 1.0f;
  out[threadIdx.x] = x;
}
