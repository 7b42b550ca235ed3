// verdict: output fail launch-failure
// Launch bounds that exclude the lab's launch.
extern "C" __global__ void __launch_bounds__(1) matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
