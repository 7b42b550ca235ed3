// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: clean
struct G { short x; char y; };
extern "C" __global__ void k(int *out) {
  __shared__ G s[32];
  int t = threadIdx.x;
  s[t].x = s[t].y = t;
  __syncthreads();
  unsigned v = *(unsigned *)&s[31 - t];
  v = __byte_perm(t, v, 0x7610);
  out[t] = (v >> 16 & 255) + 1;
}
