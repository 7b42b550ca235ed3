// same in both builds: NVRTC has the barrier; on a GPU the PTX of nvcc is watched
#define JUDGED __CUDACC_RTC__
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#if JUDGED
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
