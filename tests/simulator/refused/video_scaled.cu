// refuses vmad at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vmad.u32.u32.u32.shr15 %0, %0, %0, %0;" : "+r"(v));
  p[0] = v;
}
