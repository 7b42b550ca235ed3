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
__device__ int seq, x, y;
extern "C" __global__ void k(int *out) {
  if (blockIdx.x == 0) {
    for (int n = 1; n < 3; n++) {
      store(&seq, 2 * n - 1);
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
      store(&x, n);
      store(&y, n);
      release(&seq, 2 * n);
    }
  } else {
    int first, a, b;
    do {
      first = acquire(&seq);
      a = load(&x);
      b = load(&y);
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    } while (first != load(&seq) || first % 2);
    out[0] = a - b;
  }
}
