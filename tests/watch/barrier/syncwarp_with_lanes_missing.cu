// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error line 5
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  if (t % 2) __syncwarp();
  __syncthreads();
  out[t] = in[t];
}
