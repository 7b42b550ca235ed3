// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error variable count
__device__ int acquire(int *p) {
  int v;
  asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ void store(int *p, int v) { asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ void release(int *p, int v) { asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
extern "C" __global__ void k(int *count, int *ready) {
  if (blockIdx.x == 0) {
    store(count, 1);
    store(ready, 1);
  } else {
    while (!acquire(ready)) {}
    atomicAdd(count, 2);
  }
}
