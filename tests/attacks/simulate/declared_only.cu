// verdict: compile fail compile-error
// A kernel without a body.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n);
