// verdict: compile fail compile-error
// The kernel has other parameters than the launch.
extern "C" __global__ void matmul(float* C, double n) { C[0] = n; }
