// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  for (int i = 0; i >= 0; i = i < 7 ? i + 1 : -1) __syncthreads();
  out[threadIdx.x] = in[0];
}
