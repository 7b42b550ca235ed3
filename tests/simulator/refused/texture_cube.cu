// refuses texCubemap, in PTX tex.cube at line 3: (textures)
extern "C" __global__ void k(cudaTextureObject_t t, float *x) {
  x[threadIdx.x] = texCubemap<float>(t, 0.5f, 0.5f, 1);
}
