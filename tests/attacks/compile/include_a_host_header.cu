// verdict: compile fail compile-error
// Nothing of the host is there to be included.
#include <fcntl.h>
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
