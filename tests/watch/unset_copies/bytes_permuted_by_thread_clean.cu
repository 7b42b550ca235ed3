// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: clean
struct G { short x; char y; };
extern "C" __global__ void k(int *out) {
  __shared__ G s[32];
  int t = threadIdx.x;
  s[t].x = s[t].y = t;
  __syncthreads();
  unsigned v = *(unsigned *)&s[31 - t];
  out[t] = __byte_perm(v, t, t % 2 ? 0x4010 : 0x4210) * 3;
}
