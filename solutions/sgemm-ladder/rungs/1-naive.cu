// Rung 1: each thread reads its factors from global memory, and threadIdx.x runs along the rows: the
// lanes of a warp read A and write C a whole row apart.
//
// A thread computes 64 elements of its block's 128 x 128, one at a time.

#define TILE 128

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    for (int e = threadIdx.x; e < TILE * TILE; e += blockDim.x) {
        int row = blockIdx.y * TILE + e % TILE;
        int col = blockIdx.x * TILE + e / TILE;
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            sum += A[(size_t)row * k + p] * B[(size_t)p * n + col];
        }
        C[(size_t)row * n + col] = sum;
    }
}
