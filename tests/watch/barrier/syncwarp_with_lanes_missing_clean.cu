// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  if (t % 2) __syncwarp(0xAAAAAAAAu);
  __syncthreads();
  out[t] = in[t];
}
