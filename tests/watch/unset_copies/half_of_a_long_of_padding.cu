// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: uninitialized-read error line 9 variable s
struct __align__(8) G { int x; short y; };
extern "C" __global__ void k(int *out) {
  __shared__ G s[32];
  int t = threadIdx.x;
  s[t].x = s[t].y = t;
  __syncthreads();
  unsigned long long v = *(unsigned long long *)&s[31 - t];
  out[t] = int(v) + int(v >> 32);
}
