// Rung 3: the block loads each element into shared memory once, not once for each of 16 threads.
//
// The block computes its 128 x 128 elements in 64 squares of 16 x 16, one element per thread. The last
// tiles are padded with zeros where k is not a multiple of 16.

#define TILE 128
#define SIDE 16

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[SIDE][SIDE];
    __shared__ float Bs[SIDE][SIDE];
    int tx = threadIdx.x % SIDE;
    int ty = threadIdx.x / SIDE;
    for (int square = 0; square < TILE / SIDE * (TILE / SIDE); ++square) {
        int row = blockIdx.y * TILE + square / (TILE / SIDE) * SIDE + ty;
        int col = blockIdx.x * TILE + square % (TILE / SIDE) * SIDE + tx;
        float sum = 0.0f;
        for (int first = 0; first < k; first += SIDE) {
            As[ty][tx] = first + tx < k ? A[(size_t)row * k + first + tx] : 0.0f;
            Bs[ty][tx] = first + ty < k ? B[(size_t)(first + ty) * n + col] : 0.0f;
            __syncthreads();
            for (int step = 0; step < SIDE; ++step) {
                sum += As[ty][step] * Bs[step][tx];
            }
            __syncthreads();
        }
        C[(size_t)row * n + col] = sum;
    }
}
