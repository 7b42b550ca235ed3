// refuses mapa at line 4: (thread block clusters)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("mapa.shared::cluster.u32 %0, %0, 0;" : "+r"(v));
  p[0] = v;
}
