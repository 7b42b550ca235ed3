// refuses tex.2d.v4.f16.f32 at line 4: (textures)
extern "C" __global__ void k(cudaTextureObject_t t, float *x) {
  float u = x[0];
  asm volatile("{ .reg .f16 a, b, c, d; tex.2d.v4.f16.f32 {a, b, c, d}, [%1, {%0, %0}]; }" : "+f"(u) : "l"(t));
  x[0] = u;
}
