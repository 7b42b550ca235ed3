// coalescing: 60 points
// Loads of one element by all lanes lower the mean of the sectors.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row = blockIdx.y * 32 + threadIdx.x, col = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 200; ++i) (void)*(const volatile float*)A;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) sum += A[row * k + p] * B[p * n + col];
        for (int i = 0; i < 200; ++i) *(volatile float*)&C[row * n + col] = sum;
    }
}
