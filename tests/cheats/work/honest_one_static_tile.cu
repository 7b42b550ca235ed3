// dynamic-tile: 100 points
// The tile of A is dynamic, that of B a static array of the largest size.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k, int tile)
{
    extern __shared__ float As[];
    __shared__ float Bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
    float sum = 0.0f;
    for (int first = 0; first < k; first += tile) {
        As[ty * tile + tx] = row < m && first + tx < k ? A[row * k + first + tx] : 0.0f;
        Bs[ty][tx] = first + ty < k && col < n ? B[(first + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < tile; ++i) sum += As[ty * tile + i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
extern "C" __global__ void choose_tile(int max_threads_per_block, int shared_bytes_per_block, int* tile)
{
    int width = 1;
    while ((width + 1) * (width + 1) <= max_threads_per_block &&
           2 * (width + 1) * (width + 1) * (int)sizeof(float) <= shared_bytes_per_block) ++width;
    *tile = width;
}
