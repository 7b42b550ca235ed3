// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 4, "zero"]]}
// expect: race error variable bottom
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
__device__ int top, bottom = 4, item[4] = {0, 1, 2, 3};
__device__ int take() {
  int b = load(&bottom) - 1, t, got = -1;
  store(&bottom, b);
  asm volatile("fence.sc.gpu;" ::: "memory");
  t = load(&top);
  if (t < b) return load(&item[b]);
  if (t == b && atomicCAS(&top, t, t + 1) == t) got = load(&item[b]);
  store(&bottom, b + 1);
  return got;
}
__device__ int steal() {
  int t = acquire(&top);
  if (t >= acquire(&bottom)) return -1;
  int got = load(&item[t]);
  return atomicCAS(&top, t, t + 1) == t ? got : -1;
}
extern "C" __global__ void k(int *taken) {
  for (int n = 0; n < 4; n++) {
    int got = blockIdx.x ? steal() : take();
    if (got >= 0) atomicAdd(&taken[got], 1);
  }
}
