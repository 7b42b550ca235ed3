// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: race error line 6 variable n
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  int t = threadIdx.x;
  n[t] = t;
  if (t < 16) n[t] += n[t + 16];
  if (t < 8) n[t] += n[t + 8];
  if (t < 4) n[t] += n[t + 4];
  if (t == 0) out[0] = n[0];
}
