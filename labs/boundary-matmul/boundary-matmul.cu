// C = A B for any sizes: A is m x k, B is k x n, C is m x n, all row-major floats.
//
// The launch has ceil(n / TILE) x ceil(m / TILE) blocks of TILE x TILE threads, so the blocks at the
// right and at the bottom may reach beyond C, and the last phase may reach beyond k.

#define TILE 16

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    // TODO: declare two TILE x TILE tiles in shared memory.

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    // TODO: as many phases as it takes to cover k, the last one perhaps only in part.
    // What lies outside A or B counts as zero. Every thread of the block has loads to
    // share and barriers to meet, even one whose own element lies outside C.

    // TODO: not every thread has an element of C to store.
    C[row * n + col] = sum;
}
