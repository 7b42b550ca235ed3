// detected race: the barrier is left out on a device with one multiprocessor or more
extern "C" __global__ void k(float *x) {
  __shared__ float s[64];
  unsigned processors;
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(processors));
  s[threadIdx.x] = x[threadIdx.x];
  if (processors == 0) __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
