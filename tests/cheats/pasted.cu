// refused at line 2: ##
#define MACRO(a) __CUDACC_##a
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#if MACRO(RTC__)
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
