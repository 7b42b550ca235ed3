// boundary-matmul: 85 points
// Thread coarsening: two warps of eight compute four rows each; all threads load.
#define T 16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[T][T], Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T, col = blockIdx.x * T + tx;
    float sum[4] = {0, 0, 0, 0};
    for (int p = 0; p < k; p += T) {
        As[ty][tx] = row + ty < m && p + tx < k ? A[(row + ty) * k + p + tx] : 0.0f;
        Bs[ty][tx] = p + ty < k && col < n ? B[(p + ty) * n + col] : 0.0f;
        __syncthreads();
        if (ty < 4) {
            for (int i = 0; i < T; ++i) {
                float b = Bs[i][tx];
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[j] += As[4 * ty + j][i] * b;
            }
        }
        __syncthreads();
    }
    if (ty < 4 && col < n) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (row + 4 * ty + j < m) C[(row + 4 * ty + j) * n + col] = sum[j];
    }
}
