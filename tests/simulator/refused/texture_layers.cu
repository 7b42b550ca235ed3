// refuses tex2DLayered, in PTX tex.a2d at line 3: (textures)
extern "C" __global__ void k(cudaTextureObject_t t, float *x) {
  x[threadIdx.x] = tex2DLayered<float>(t, 0.5f, 0.5f, 1);
}
