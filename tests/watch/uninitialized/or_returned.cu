// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 32, "out"]]}
// expect: uninitialized-read error line 6
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[32];
  int t = threadIdx.x;
  unsigned old = atomicOr(&s[t], ~0u);
  __syncthreads();
  out[t] = s[31 - t] + old;
}
