// verdict: compile fail compile-error
// The kernel takes other parameters than it is given.
extern "C" __global__ void matmul(float* C, double n) { C[0] = n; }
