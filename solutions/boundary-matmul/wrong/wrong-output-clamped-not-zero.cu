// The padding repeats the edge; it must be zero.

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
        int last_row = row < m ? row : m - 1;
        As[ty][tx] = A[last_row * k + (a_col < k ? a_col : k - 1)];
        int last_col = col < n ? col : n - 1;
        Bs[ty][tx] = B[(b_row < k ? b_row : k - 1) * n + last_col];
        __syncthreads();

        for (int i = 0; i < TILE; ++i) {
            sum += As[ty][i] * Bs[i][tx];
        }
        __syncthreads();
    }

    if (row < m && col < n) {
        C[row * n + col] = sum;
    }
}
