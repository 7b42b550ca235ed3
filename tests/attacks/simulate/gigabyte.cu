// verdict: output fail launch-failure
// A gigabyte of device memory that belongs to the program.
__device__ float everything[1ul << 28];
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    C[0] = everything[n];
    everything[n + 1] = A[0];
}
