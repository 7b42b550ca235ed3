// tiled-matmul: 70 points
// A comes from a tile, B from global memory.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ float As[16][16];
    float sum = 0.0f;
    for (int phase = 0; phase < n / 16; ++phase) {
        As[ty][tx] = A[row * n + phase * 16 + tx];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[ty][k] * B[(phase * 16 + k) * n + col];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
