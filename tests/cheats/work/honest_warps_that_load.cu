// tiled-matmul: 85 points
// Warp specialization: two of eight warps load the next tiles while the other six compute.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[2][16][16], Bs[2][16][16];
    int t = threadIdx.y * 16 + threadIdx.x;
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    float sum[2] = {0.0f, 0.0f};
    for (int p = -1; p < n / 16; ++p) {
        if (t < 64) {
            if (p + 1 < n / 16) {
                for (int i = t; i < 256; i += 64) {
                    As[(p + 1) & 1][i / 16][i % 16] = A[(row + i / 16) * n + (p + 1) * 16 + i % 16];
                    Bs[(p + 1) & 1][i / 16][i % 16] = B[((p + 1) * 16 + i / 16) * n + col + i % 16];
                }
            }
        } else if (p >= 0) {
            for (int j = 0; j < 2; ++j) {
                int e = t - 64 + 192 * j;
                if (e < 256)
                    for (int k = 0; k < 16; ++k) sum[j] += As[p & 1][e / 16][k] * Bs[p & 1][k][e % 16];
            }
        }
        __syncthreads();
    }
    if (t >= 64) {
        for (int j = 0; j < 2; ++j) {
            int e = t - 64 + 192 * j;
            if (e < 256) C[(row + e / 16) * n + col + e % 16] = sum[j];
        }
    }
}
