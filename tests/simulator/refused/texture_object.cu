// refuses tex1Dfetch, in PTX tex.1d at line 3: (textures)
extern "C" __global__ void k(cudaTextureObject_t t, float *x) {
  x[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
