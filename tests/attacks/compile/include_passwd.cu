// verdict: compile fail cheat
// Includes a file of the host by its path, which is refused.
#include "/etc/passwd"
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
