// tiled-matmul: 85 points
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __shared__ float As[2][16][17], Bs[2][16][17];
    float sum = 0.0f;
    As[0][ty][tx] = A[row * n + tx];
    Bs[0][ty][tx] = B[ty * n + col];
    __syncthreads();
    for (int phase = 0; phase < n / 16; ++phase) {
        int now = phase & 1, first = (phase + 1) * 16;
        if (first < n) {
            As[now ^ 1][ty][tx] = A[row * n + first + tx];
            Bs[now ^ 1][ty][tx] = B[(first + ty) * n + col];
        }
        for (int k = 0; k < 16; ++k) sum += As[now][ty][k] * Bs[now][k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
