// detected race: no build has the macro, so the barrier is left out in both
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
%:ifdef __CUDACC_DEBUG__
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x];
}
