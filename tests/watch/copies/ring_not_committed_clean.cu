// launch: {"kernel": "pipe", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 512], ["int32", 64, "out"]]}
// expect: clean
#define CP(dst, src) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" :: "r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src))
#define COMMIT() asm volatile("cp.async.commit_group;\n")
#define WAIT(n) asm volatile("cp.async.wait_group %0;\n" :: "n"(n))
extern "C" __global__ void pipe(const int *x, int *y) {
  __shared__ int buf[2][64];
  int t = threadIdx.x, sum = 0, stage = 0;
  CP(&buf[0][t], x + t);
  COMMIT();
  for (int k = 0; k < 8; ++k) {
    if (k + 1 < 8) {
      CP(&buf[stage ^ 1][t], x + (k + 1) * 64 + t);
      COMMIT();
      WAIT(1);
    } else WAIT(0);
    __syncthreads();
    sum += buf[stage][63 - t];
    __syncthreads();
    stage ^= 1;
  }
  y[t] = sum;
}
