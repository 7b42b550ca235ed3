// tiled-matmul: 70 points
// A tile of real data is filled and read, and what was added is taken off again.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ float As[16][16], Bs[16][16], Cs[16][16];
    float nothing = 0.0f, sum = 0.0f;
    for (int phase = 0; phase < n / 16; ++phase) {
        As[ty][tx] = Cs[ty][tx] = A[row * n + phase * 16 + tx];
        Bs[ty][tx] = B[(phase * 16 + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k) nothing += (As[ty][k] - Cs[ty][k]) * Bs[k][tx];
        __syncthreads();
    }
    for (int p = 0; p < n; ++p) sum += A[row * n + p] * B[p * n + col];
    C[row * n + col] = sum + nothing;
}
