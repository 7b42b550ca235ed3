// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 512], ["int32", 64, "out"]]}
// expect: race error hazard WAR variable buf
typedef unsigned long long u64;
__device__ unsigned sp(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64 *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(sp(b)), "r"(n) : "memory"); }
__device__ void arrive(u64 *b) { asm volatile("{\n .reg .b64 t;\n mbarrier.arrive.shared.b64 t, [%0];\n}" :: "r"(sp(b)) : "memory"); }
__device__ void wait(u64 *b, int parity) {
  asm volatile("{\n .reg .pred p;\nAGAIN:\n mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n @p bra DONE;\n bra AGAIN;\nDONE:\n}" :: "r"(sp(b)), "r"(parity) : "memory");
}
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ u64 full[2], empty[2];
  __shared__ int buf[2][64];
  int t = threadIdx.x;
  if (t < 2) { init(&full[t], 32); init(&empty[t], 64); }
  __syncthreads();
  if (t < 32) {
    for (int k = 0; k < 8; ++k) {
      int s = k & 1, ph = (k >> 1) & 1;
      wait(&empty[s], ph ^ 1);
      buf[s][t] = x[k * 64 + t];
      buf[s][t + 32] = x[k * 64 + 32 + t];
      arrive(&full[s]);
    }
  } else {
    int c = t - 32, sum = 0;
    for (int k = 0; k < 8; ++k) {
      int s = k & 1, ph = (k >> 1) & 1;
      wait(&full[s], ph);
      arrive(&empty[s]);
      sum += buf[s][63 - c];
    }
    y[c] = sum;
  }
}
