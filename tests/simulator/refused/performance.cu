// refuses %pm0 at line 4: (performance counters)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("mov.u32 %0, %%pm0;" : "+r"(v));
  p[0] = v;
}
