// verdict: compile fail compile-error
// An initialized array of 256 MB, which the object file contains completely.
__device__ float everything[1ul << 26] = {1};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = everything[n]; }
