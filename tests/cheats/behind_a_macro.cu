// refused at line 2: __CUDACC_RTC__
#define JUDGED __CUDACC_RTC__
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#if JUDGED
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
