// tiled-matmul: 70 points
// Only the first 16 products come from a tile.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ float As[16][16], Bs[16][16];
    float sum = 0.0f;
    As[ty][tx] = A[row * n + tx];
    Bs[ty][tx] = B[ty * n + col];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
    for (int p = 16; p < n; ++p) sum += A[row * n + p] * B[p * n + col];
    C[row * n + col] = sum;
}
