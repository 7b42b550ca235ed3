// The calls of a kernel whose launch may depend on another one: without that, they have no effect.

// kernel waits_and_triggers grid 2 block 32
// out y int32 = np.arange(64)
extern "C" __global__ void waits_and_triggers(int *y) {
  cudaGridDependencySynchronize();
  y[blockIdx.x * 32 + threadIdx.x] = blockIdx.x * 32 + threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
}

// kernel one_thread_triggers grid 2 block 64
// out y int32 = np.full(128, 64)
extern "C" __global__ void one_thread_triggers(int *y) {
  __shared__ int count;
  if (threadIdx.x == 0) {
    cudaTriggerProgrammaticLaunchCompletion();
    count = 0;
  }
  __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  cudaGridDependencySynchronize();
  y[blockIdx.x * 64 + threadIdx.x] = count;
}

template <int N> __device__ void begin(int *y) {
  cudaGridDependencySynchronize();
  y[threadIdx.x] = N;
}
// kernel in_a_template grid 1 block 32
// out y int32 = np.full(32, 3)
extern "C" __global__ void in_a_template(int *y) { begin<3>(y); }
