// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 5
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[96]; int t = threadIdx.x; s[t] = in[t];
  asm volatile("bar.sync 3, 64;" ::: "memory"); out[t] = s[t];
}
