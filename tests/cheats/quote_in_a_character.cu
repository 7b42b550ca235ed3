// detected race: a double quote in a character literal opens no string
#define quoted_a a'"'
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#ifdef __CUDACC_DEBUG__
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
#define quoted_b a'"'
