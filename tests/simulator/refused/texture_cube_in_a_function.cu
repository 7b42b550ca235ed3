// refuses texCubemapLayered, in PTX tex.acube at line 2: (textures)
__device__ float sampled(cudaTextureObject_t t, float z) { return texCubemapLayered<float>(t, 1, 2, z, 1); }
extern "C" __global__ void k(cudaTextureObject_t t, float *x) { x[threadIdx.x] = sampled(t, x[0]); }
