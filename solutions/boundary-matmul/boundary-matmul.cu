// C = A B for any sizes: A is m x k, B is k x n, C is m x n, all row-major floats.
//
// The launch has ceil(n / TILE) x ceil(m / TILE) blocks of TILE x TILE threads, so the blocks at the
// right and at the bottom may reach beyond C, and the last phase may reach beyond k.

#define TILE 16

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
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
    // BEGIN SOLUTION
    // SKELETON: // TODO: as many phases as it takes to cover k, the last one perhaps only in part.
    // SKELETON: // What lies outside A or B counts as zero. Every thread of the block has loads to
    // SKELETON: // share and barriers to meet, even one whose own element lies outside C.
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
    // END SOLUTION

    // BEGIN SOLUTION
    // SKELETON: // TODO: not every thread has an element of C to store.
    // SKELETON: C[row * n + col] = sum;
    if (row < m && col < n) {
        C[row * n + col] = sum;
    }
    // END SOLUTION
}
