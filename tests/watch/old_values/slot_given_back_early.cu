// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error variable slot
__device__ int load(int *p) {
  int v;
  asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ int acquire(int *p) {
  int v;
  asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ void store(int *p, int v) { asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ void release(int *p, int v) { asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
extern "C" __global__ void k(int *slot, int *written, int *taken, int *out) {
  int sum = 0;
  for (int n = 0; n < 4; n++)
    if (blockIdx.x == 0) {
      while (acquire(taken) < n - 1) {}
      store(&slot[n % 2], n + 1);
      release(written, n + 1);
    } else {
      while (acquire(written) <= n) {}
      sum += load(&slot[n % 2]);
      store(taken, n + 1);
    }
  if (blockIdx.x) out[0] = sum;
}
