// accepted
#ifndef __CUDACC__
#error "for a CUDA compiler"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
#error "double atomicAdd needs compute capability 6.0"
#endif
// The judge's __CUDACC_RTC__ is only spoken of here, and "__NVCC__" in a text.
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
