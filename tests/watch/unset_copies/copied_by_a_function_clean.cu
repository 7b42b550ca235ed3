// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: clean
struct Pair { short x, y; };
__device__ __noinline__ void copy(unsigned *to, const unsigned *from) { *to = *from; }
extern "C" __global__ void k(int *out) {
  __shared__ Pair s[32];
  unsigned v;
  int t = threadIdx.x;
  s[t].x = t;
  __syncthreads();
  copy(&v, (unsigned *)&s[31 - t]);
  out[t] = (v & 0xffff) + 1;
}
