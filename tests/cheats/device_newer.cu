// refused at line 5: __CUDA_ARCH__
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#if __CUDA_ARCH__ >= 890
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
