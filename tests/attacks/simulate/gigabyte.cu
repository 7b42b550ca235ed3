// verdict: output error
// Declares one gigabyte of device memory, which a GPU has but the simulator does not.
__device__ float everything[1ul << 28];
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    C[0] = everything[n];
    everything[n + 1] = A[0];
}
