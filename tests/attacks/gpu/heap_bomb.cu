// verdict: output pass
// Allocates the whole device heap and never frees it.
#define TILE 16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int phase = 0; phase < n / TILE; ++phase) {
        As[ty][tx] = A[row * n + phase * TILE + tx];
        Bs[ty][tx] = B[(phase * TILE + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
    while (char* taken = (char*)malloc(1 << 20)) *taken = 1;
}
