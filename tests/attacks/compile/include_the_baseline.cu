// verdict: compile fail compile-error
// Includes a file of the lab, which the sandbox does not have.
#include "baseline.cu"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
