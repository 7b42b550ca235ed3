// verdict: output fail missing-feature
// The kernel uses clusters of blocks, which are not simulated.
extern "C" __global__ void __cluster_dims__(8, 1, 1) matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
