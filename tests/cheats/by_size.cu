// detected race: the barrier is left out for the sizes that are timed
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (gridDim.x < 2) __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
