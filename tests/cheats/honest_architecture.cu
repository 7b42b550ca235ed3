// accepted
#if __CUDA_ARCH__ >= 800
#define PAIR 2
#else
#define PAIR 1
#endif
#if __CUDA_ARCH__ < 700
#error "needs __CUDA_ARCH__ 700 and not __CUDACC_DEBUG__ or __NVCC__"
#endif
#ifdef __CUDACC_RTC__
typedef unsigned int uint32_t;
#else
#include <cstdint>
#endif
#ifndef NDEBUG
#define CHECK(a) assert(a)
#else
#define CHECK(a)
#endif
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  uint32_t i = threadIdx.x * PAIR / PAIR;
  CHECK(i < 64);
  s[i] = x[i];
  __syncthreads();
  x[i] = s[63 - i];
}
