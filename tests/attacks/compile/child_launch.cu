// verdict: compile fail missing-feature
// A kernel that launches other kernels.
__global__ void child(float* c) { child<<<1, 1>>>(c); }
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { child<<<1, 1>>>(C); }
