// The sum is cut to the precision of float16 after every step.

// Keeps the 10 fraction bits that float16 and TF32 have, of the 23 that float32 has.
__device__ float shortened(float x)
{
    return __int_as_float(__float_as_int(x) & ~0x1fff);
}

#define TILE 16

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int phase = 0; phase < n / TILE; ++phase) {
        As[ty][tx] = A[row * n + phase * TILE + tx];
        Bs[ty][tx] = B[(phase * TILE + ty) * n + col];
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum = shortened(sum + As[ty][k] * Bs[k][tx]);
        }
        __syncthreads();
    }

    C[row * n + col] = sum;
}
