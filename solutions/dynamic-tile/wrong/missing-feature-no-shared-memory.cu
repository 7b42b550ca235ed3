// Correct, but every thread reads all its elements from global memory.

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k,
                                  int tile)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            sum += A[row * k + p] * B[p * n + col];
        }
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
