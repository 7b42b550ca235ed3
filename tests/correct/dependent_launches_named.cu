// The header that declares these calls may be named, too.
#include <cuda_device_runtime_api.h>

// kernel header_is_named grid 2 block 32
// out y int32 = np.arange(64)
extern "C" __global__ void header_is_named(int *y) {
  cudaGridDependencySynchronize();
  y[blockIdx.x * 32 + threadIdx.x] = blockIdx.x * 32 + threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
}
