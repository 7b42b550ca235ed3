// tiled-matmul: 70 points
// One thread of each block loads both tiles.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ float As[16][16], Bs[16][16];
    float sum = 0.0f;
    for (int phase = 0; phase < n / 16; ++phase) {
        for (int i = 0; i < 256 && tx + ty == 0; ++i) {
            As[i / 16][i % 16] = A[(row + i / 16) * n + phase * 16 + i % 16];
            Bs[i / 16][i % 16] = B[(phase * 16 + i / 16) * n + col + i % 16];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
