// Threads outside C also store.

#define TILE 16

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    int phases = (k + TILE - 1) / TILE;
    for (int phase = 0; phase < phases; ++phase) {
        int a_col = phase * TILE + tx;
        int b_row = phase * TILE + ty;
        As[ty][tx] = (row < m && a_col < k) ? A[row * k + a_col] : 0.0f;
        Bs[ty][tx] = (b_row < k && col < n) ? B[b_row * n + col] : 0.0f;
        __syncthreads();

        for (int i = 0; i < TILE; ++i) {
            sum += As[ty][i] * Bs[i][tx];
        }
        __syncthreads();
    }

    C[row * n + col] = sum;
}
