// refuses %clusterid at line 4: (thread block clusters)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("mov.u32 %0, %%clusterid.x;" : "+r"(v));
  p[0] = v;
}
