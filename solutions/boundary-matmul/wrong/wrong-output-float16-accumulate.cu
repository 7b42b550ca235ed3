// The sum is cut to the precision of float16 after every step.

// Keeps the 10 fraction bits that float16 and TF32 have, of the 23 that float32 has.
__device__ float shortened(float x)
{
    return __int_as_float(__float_as_int(x) & ~0x1fff);
}

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
            sum = shortened(sum + As[ty][i] * Bs[i][tx]);
        }
        __syncthreads();
    }

    if (row < m && col < n) {
        C[row * n + col] = sum;
    }
}
