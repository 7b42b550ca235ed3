// threadIdx.x runs down a column of C: every thread of a warp is in a different row.

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.x;
    int col = blockIdx.x * blockDim.x + threadIdx.y;

    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            sum += A[row * k + p] * B[p * n + col];
        }
        C[row * n + col] = sum;
    }
}
