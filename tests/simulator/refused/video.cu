// refuses vadd at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vadd.u32.u32.u32 %0, %0, 1;" : "+r"(v));
  p[0] = v;
}
