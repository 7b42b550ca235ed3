// verdict: compile fail compile-error
// Includes the solution, which the sandbox does not have.
#include "../../solutions/tiled-matmul/tiled-matmul.cu"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
