// verdict: compile fail compile-error
// Declares one gigabyte of shared memory.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { __shared__ float all[1 << 28]; all[n] = A[0]; C[0] = all[n + 1]; }
