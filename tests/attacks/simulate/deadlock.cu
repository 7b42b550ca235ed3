// verdict: output fail timeout
// Some threads wait at a barrier; the others wait for a value that these would write.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    if (threadIdx.x < 5) __syncthreads();
    else while (*(volatile int*)C != 77) {}
}
