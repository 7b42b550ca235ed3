#include <cuda_runtime.h>
#include "device_launch_parameters.h"
#include <stdio.h>
namespace lab {
__device__ __forceinline__ float square(float x) { return x * x; }
struct Pair {
    float a, b;
    __host__ __device__ float sum() const { return a + b; }
};
}  // namespace lab
__global__ void k(float* a) { a[0] = lab::square(a[0]) + lab::Pair{1, 2}.sum(); }
