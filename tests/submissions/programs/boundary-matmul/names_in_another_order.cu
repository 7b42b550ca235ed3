// Our lecture calls the matrices A (m x k), B (k x n) and C; here A is m x n and B is n x k.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cfloat>

const int TILE = 16;

#define cudaErrCheck(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

__device__ float load(const float *x, int r, int c, int rows, int cols)
{
    return r < rows && c < cols ? x[r * cols + c] : 0.f;
}

extern "C" __global__ void matmul(const float *A, const float *B, float *C, int m, int k, int n)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
    const int r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
    float dot = 0;
    for (int t = 0; t < n; t += TILE) {
        a[threadIdx.y][threadIdx.x] = load(A, r, t + threadIdx.x, m, n);
        b[threadIdx.y][threadIdx.x] = load(B, t + threadIdx.y, c, n, k);
        __syncthreads();
        for (int i = 0; i < TILE; i++) dot += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (r < m && c < k) C[r * k + c] = dot;
}

float maxError(const float *x, const float *y, int count) {
    float worst = -FLT_MAX;
    for (int i = 0; i < count; i++) worst = max(worst, abs(x[i] - y[i]));
    return worst;
}

int main(void)
{
    float *A, *B, *C;
    cudaErrCheck(cudaMallocManaged(&A, 100 * 70 * sizeof(float)));
    cudaErrCheck(cudaMallocManaged(&B, 70 * 50 * sizeof(float)));
    cudaErrCheck(cudaMallocManaged(&C, 100 * 50 * sizeof(float)));
    matmul<<<dim3((50 + TILE - 1) / TILE, (100 + TILE - 1) / TILE), dim3(TILE, TILE)>>>(A, B, C, 100, 50, 70);
    cudaErrCheck(cudaPeekAtLastError());
    cudaErrCheck(cudaDeviceSynchronize());
    printf("max error %g\n", maxError(C, C, 5000));
    return EXIT_SUCCESS;
}
