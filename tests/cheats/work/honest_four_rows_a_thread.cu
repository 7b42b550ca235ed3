// coalescing: 85 points
// Thread coarsening: every fourth row of threads computes four rows of C.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row = blockIdx.y * 32 + 4 * threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.y >= 8 || col >= n || row >= m) return;
    float sum[4] = {0, 0, 0, 0};
    for (int p = 0; p < k; ++p) {
        float b = B[p * n + col];
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[j] += A[min(row + j, m - 1) * k + p] * b;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (row + j < m) C[(row + j) * n + col] = sum[j];
}
