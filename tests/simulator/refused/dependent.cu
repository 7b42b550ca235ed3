// refuses griddepcontrol at line 4: (dependent launches)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("griddepcontrol.wait;" : "+r"(v));
  p[0] = v;
}
