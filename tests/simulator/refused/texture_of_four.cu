// refuses tex2D, in PTX tex.2d at line 4: (textures)
extern "C" __global__ void k(cudaTextureObject_t t, float *x) {
  float u = threadIdx.x + 0.5f;
  float4 v = tex2D<float4>(t, u, u);
  x[threadIdx.x] = v.x + v.y;
}
