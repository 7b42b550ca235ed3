// verdict: compile fail compile-error
// Includes a file of the host, which the sandbox does not have.
#include <fcntl.h>
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
