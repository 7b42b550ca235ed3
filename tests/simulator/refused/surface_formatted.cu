// refuses sust.p.1d at line 4: (surfaces)
extern "C" __global__ void k(cudaSurfaceObject_t s, int *p) {
  int v = p[0];
  asm volatile("sust.p.1d.v4.b32.trap [%1, {%0}], {%0, %0, %0, %0};" : "+r"(v) : "l"(s));
  p[0] = v;
}
