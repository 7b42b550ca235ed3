// launch: {"kernel": "sk", "grid": [5, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 640], ["int32", 320, "zero"], ["uint32", 1, "zero"], ["int32", 64, "out"]]}
// expect: clean
__device__ unsigned ld_acquire(unsigned *p) {
  unsigned v;
  asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ void red_release(unsigned *p, unsigned v) {
  asm volatile("fence.acq_rel.gpu;\n");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;\n" : : "l"(p), "r"(v) : "memory");
}
__device__ void arrive_inc(unsigned *p, int thread) {
  __syncthreads();
  if (thread == 0) red_release(p, 1);
}
__device__ void wait_eq(unsigned *p, int thread, unsigned want) {
  if (thread == 0) while (ld_acquire(p) != want) {}
  __syncthreads();
}
extern "C" __global__ void sk(const int *x, int *part, unsigned *flags, int *y) {
  int t = threadIdx.x, b = blockIdx.x;
  int v = x[b * 128 + t] + x[b * 128 + 64 + t];
  if (b) {
    part[b * 64 + t] = v;
    arrive_inc(flags, t);
  } else {
    wait_eq(flags, t, 4);
    for (int k = 1; k < 5; ++k) v += part[k * 64 + t];
    y[t] = v;
  }
}
