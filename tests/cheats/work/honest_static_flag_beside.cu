// dynamic-tile: 100 points
// A static flag says whether the tile of A is zero; the data are in dynamic memory.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k, int tile)
{
    extern __shared__ float tiles[];
    __shared__ int any;
    float *As = tiles, *Bs = tiles + tile * tile;
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
    float sum = 0.0f;
    for (int first = 0; first < k; first += tile) {
        if (tx + ty == 0) any = 0;
        __syncthreads();
        float a = row < m && first + tx < k ? A[row * k + first + tx] : 0.0f;
        As[ty * tile + tx] = a;
        Bs[ty * tile + tx] = first + ty < k && col < n ? B[(first + ty) * n + col] : 0.0f;
        if (a != 0.0f) atomicOr(&any, 1);
        __syncthreads();
        if (any)
            for (int i = 0; i < tile; ++i) sum += As[ty * tile + i] * Bs[i * tile + tx];
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
