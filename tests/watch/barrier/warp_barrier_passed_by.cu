// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 7
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  if (t < 16) {
    v += 1;
    __syncwarp();
  }
  out[t] = v;
}
