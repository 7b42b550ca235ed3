// refuses tex.1d at line 4: (textures)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("{ .reg .u64 s; .reg .f32 a, b, c, d; mov.u64 s, 0; tex.1d.v4.f32.s32 {a, b, c, d}, [s, s, {%0}]; }" : "+r"(v));
  p[0] = v;
}
