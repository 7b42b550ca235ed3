// Neighboring threads access columns that are gridDim.x apart.

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = threadIdx.x * gridDim.x + blockIdx.x;

    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            sum += A[row * k + p] * B[p * n + col];
        }
        C[row * n + col] = sum;
    }
}
