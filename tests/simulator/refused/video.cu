// refuses vadd4 at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vadd4.u32.u32.u32.add %0, %0, %0, %0;" : "+r"(v));
  p[0] = v;
}
