// verdict: compile fail compile-error
// The name comes out of a macro.
#define PLACE "/etc/passwd"
#include PLACE
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
