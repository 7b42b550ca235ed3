// Correct, with sums in registers, but every factor comes from global memory.

#define TILE 128
#define MINE 8

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row = blockIdx.y * TILE + threadIdx.x / 16 * MINE;
    int col = blockIdx.x * TILE + threadIdx.x % 16;

    float sum[MINE][MINE] = {};
    for (int p = 0; p < k; ++p) {
        for (int i = 0; i < MINE; ++i) {
            for (int j = 0; j < MINE; ++j) {
                sum[i][j] += A[(row + i) * k + p] * B[p * n + col + 16 * j];
            }
        }
    }
    for (int i = 0; i < MINE; ++i) {
        for (int j = 0; j < MINE; ++j) {
            C[(row + i) * n + col + 16 * j] = sum[i][j];
        }
    }
}
