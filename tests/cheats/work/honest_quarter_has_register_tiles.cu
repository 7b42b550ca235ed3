// tiled-matmul: 85 points
// Register tiling: a quarter of the threads compute 2 x 2 elements each; all threads load.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[16][17], Bs[16][17];
    int t = threadIdx.y * 16 + threadIdx.x;
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    int r = t / 8 % 8, c = t % 8;
    float s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (int p = 0; p < n; p += 16) {
        As[threadIdx.y][threadIdx.x] = A[(row + threadIdx.y) * n + p + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(p + threadIdx.y) * n + col + threadIdx.x];
        __syncthreads();
        if (t < 64) {
            for (int k = 0; k < 16; ++k) {
                float a0 = As[r][k], a1 = As[r + 8][k], b0 = Bs[k][c], b1 = Bs[k][c + 8];
                s00 += a0 * b0; s01 += a0 * b1; s10 += a1 * b0; s11 += a1 * b1;
            }
        }
        __syncthreads();
    }
    if (t < 64) {
        C[(row + r) * n + col + c] = s00;
        C[(row + r) * n + col + c + 8] = s01;
        C[(row + r + 8) * n + col + c] = s10;
        C[(row + r + 8) * n + col + c + 8] = s11;
    }
}
