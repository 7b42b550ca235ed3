// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: uninitialized-read error line 9 variable s
struct G { int x; short y; };
extern "C" __global__ void k(int *out) {
  __shared__ G s[32];
  int t = threadIdx.x;
  s[t].x = s[t].y = t;
  __syncthreads();
  int2 v = *(int2 *)&s[31 - t];
  out[t] = v.x + (v.y & 0x1ffff);
}
