// C = A B for square matrices of n x n floats, row-major; n is a multiple of TILE.
//
// The launch has n / TILE x n / TILE blocks of TILE x TILE threads: block (x, y) makes the tile of
// C in tile row y and tile column x, one element a thread.

#define TILE 16

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    // BEGIN SOLUTION
    // SKELETON: // TODO: declare two TILE x TILE tiles in shared memory.
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    // END SOLUTION

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int phase = 0; phase < n / TILE; ++phase) {
        // BEGIN SOLUTION
        // SKELETON: // TODO: load one element of A and one of B into the tiles, let the block wait
        // SKELETON: // until the tiles are full, add this phase's products to sum, and let the
        // SKELETON: // block wait again before the tiles are overwritten.
        As[ty][tx] = A[row * n + phase * TILE + tx];
        Bs[ty][tx] = B[(phase * TILE + ty) * n + col];
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
        // END SOLUTION
    }

    C[row * n + col] = sum;
}
