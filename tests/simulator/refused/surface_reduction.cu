// refuses sured.b.add.1d at line 4: (surfaces)
extern "C" __global__ void k(cudaSurfaceObject_t s, int *p) {
  int v = p[0];
  asm volatile("sured.b.add.1d.s32.trap [%1, {%0}], %0;" : "+r"(v) : "l"(s));
  p[0] = v;
}
