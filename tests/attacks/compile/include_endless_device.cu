// verdict: compile fail cheat
// Includes a device of the host by its path, which is refused.
#include </dev/zero>
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
