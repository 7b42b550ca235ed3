// Correct, but with the largest tiles in static shared memory; the dynamic array is not used.

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k,
                                  int tile)
{
    __shared__ float tiles[2 * 32 * 32];
    float* As = tiles;
    float* Bs = tiles + tile * tile;

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * tile + ty;
    int col = blockIdx.x * tile + tx;

    float sum = 0.0f;
    for (int first = 0; first < k; first += tile) {
        int a_col = first + tx;
        int b_row = first + ty;
        As[ty * tile + tx] = (row < m && a_col < k) ? A[row * k + a_col] : 0.0f;
        Bs[ty * tile + tx] = (b_row < k && col < n) ? B[b_row * n + col] : 0.0f;
        __syncthreads();

        for (int i = 0; i < tile; ++i) {
            sum += As[ty * tile + i] * Bs[i * tile + tx];
        }
        __syncthreads();
    }

    if (row < m && col < n) {
        C[row * n + col] = sum;
    }
}

// Compute the widest tile that a device can run: tile * tile threads must fit into a block, and
// both tiles into its shared memory. Runs with one thread.
extern "C" __global__ void choose_tile(int max_threads_per_block, int shared_bytes_per_block,
                                       int* tile)
{
    int width = 1;
    while ((width + 1) * (width + 1) <= max_threads_per_block &&
           2 * (width + 1) * (width + 1) * (int)sizeof(float) <= shared_bytes_per_block) {
        ++width;
    }
    *tile = width;
}
