#define T 16

// one tile of A and one of B per phase
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    __shared__ float a[T][T];
    __shared__ float b[T][T];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.y * T + y;
    const int j = blockIdx.x * T + x;

    float acc = 0;
    for (int t = 0; t < n; t += T) {
        a[y][x] = A[i * n + t + x];
        b[y][x] = B[(t + y) * n + j];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < T; k++)
            acc += a[y][k] * b[k][x];
        __syncthreads();
    }
    C[i * n + j] = acc;
}
