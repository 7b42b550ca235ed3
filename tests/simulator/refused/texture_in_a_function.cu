// refuses tex3D, in PTX tex.3d at line 2: (textures)
__device__ float sampled(cudaTextureObject_t t, float z) { return tex3D<float>(t, 1, 2, z); }
extern "C" __global__ void k(cudaTextureObject_t t, float *x) { x[threadIdx.x] = sampled(t, x[0]); }
