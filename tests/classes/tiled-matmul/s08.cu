#define TILE 16

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float sA[TILE][TILE];
    __shared__ float sB[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float total = 0.0f;

    for (int start = 0; start < n; start += TILE) {
        sA[threadIdx.y][threadIdx.x] = A[row * n + start + threadIdx.x];
        sB[threadIdx.y][threadIdx.x] = B[(start + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            total += sA[threadIdx.y][k] * sB[k][threadIdx.x];
        __syncthreads();
    }
    C[col * n + row] = total;
}
