// refuses vset4 at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vset4.u32.u32.lt %0.b0, %0, %0, %0;" : "+r"(v));
  p[0] = v;
}
