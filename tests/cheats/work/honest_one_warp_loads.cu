// tiled-matmul: 85 points
// Warp specialization: one of eight warps loads both tiles, all compute.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[16][16], Bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    float sum = 0.0f;
    for (int p = 0; p < n; p += 16) {
        if (t < 32) {
#pragma unroll
            for (int i = t; i < 256; i += 32) {
                As[i / 16][i % 16] = A[(row + i / 16) * n + p + i % 16];
                Bs[i / 16][i % 16] = B[(p + i / 16) * n + col + i % 16];
            }
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[(row + ty) * n + col + tx] = sum;
}
