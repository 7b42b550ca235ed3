// refuses vshl at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vshl.s32.s32.u32.sat.wrap %0, %0, %0;" : "+r"(v));
  p[0] = v;
}
