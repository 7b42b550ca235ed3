// refuses vmin at line 4: (video instructions)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("vmin.u32.u32.u32 %0.h1, %0, %0, %0;" : "+r"(v));
  p[0] = v;
}
