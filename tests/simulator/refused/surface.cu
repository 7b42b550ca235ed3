// refuses suld at line 4: (surfaces)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("{ .reg .u64 s; mov.u64 s, 0; suld.b.1d.b32.trap {%0}, [s, {%0}]; }" : "+r"(v));
  p[0] = v;
}
