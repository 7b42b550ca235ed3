// refuses vsub at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vsub.u32.u32.u32.sat.max %0, %0, %0, %0;" : "+r"(v));
  p[0] = v;
}
