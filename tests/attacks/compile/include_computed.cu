// verdict: compile fail compile-error
// The file name of the include directive comes from a macro.
#define PLACE "/etc/passwd"
#include PLACE
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
