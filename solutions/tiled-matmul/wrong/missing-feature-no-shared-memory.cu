// Correct, but every thread reads all its elements from global memory.

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < n; ++p) {
            sum += A[row * n + p] * B[p * n + col];
        }
        C[row * n + col] = sum;
    }
}
