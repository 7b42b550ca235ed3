// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
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
__device__ int current, hazard, node[2] = {5, 5};
extern "C" __global__ void k(int *out) {
  if (blockIdx.x == 0) {
    int n;
    do {
      n = acquire(&current);
      store(&hazard, n + 1);
      asm volatile("fence.sc.gpu;" ::: "memory");
    } while (acquire(&current) != n);
    out[0] = load(&node[n]);
    release(&hazard, 0);
  } else {
    store(&current, 1);
    asm volatile("fence.sc.gpu;" ::: "memory");
    if (acquire(&hazard) != 1) store(&node[0], -1);
  }
}
