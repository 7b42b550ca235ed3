#include <stdio.h>
#include <stdlib.h>
#include <assert.h>
#include <cuda_runtime.h>
#include <cublas_v2.h>
#include <curand.h>
#include <helper_functions.h>
#include <helper_cuda.h>

#define BLOCK_SIZE 16
#define CUBLAS_CALL(x) { if ((x) != CUBLAS_STATUS_SUCCESS) { printf("cuBLAS error at %s:%d\n", __FILE__, __LINE__); exit(1); } }

typedef struct _matrixSize {
    unsigned int uiWA, uiHA, uiWB, uiHB, uiWC, uiHC;
} sMatrixSize;

void matrixMulCPU(float *C, const float *A, const float *B, unsigned int hA, unsigned int wA, unsigned int wB)
{
    for (unsigned int i = 0; i < hA; ++i)
        for (unsigned int j = 0; j < wB; ++j) {
            double sum = 0;
            for (unsigned int k = 0; k < wA; ++k) sum += (double)A[i * wA + k] * B[k * wB + j];
            C[i * wB + j] = (float)sum;
        }
}

__global__ void matmul_naive(const float* A, const float* B, float* C, int width)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    float v = 0;
    for (int i = 0; i < width; i++) v += A[r * width + i] * B[i * width + c];
    C[r * width + c] = v;
}

__global__ void matmul(const float* A, const float* B, float* C, int width)
{
    __shared__ float tileA[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float tileB[BLOCK_SIZE][BLOCK_SIZE];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int row = by * BLOCK_SIZE + ty, col = bx * BLOCK_SIZE + tx;
    float Csub = 0;
    for (int a = 0; a < width; a += BLOCK_SIZE) {
        tileA[ty][tx] = A[row * width + a + tx];
        tileB[ty][tx] = B[(a + ty) * width + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) Csub += tileA[ty][k] * tileB[k][tx];
        __syncthreads();
    }
    C[row * width + col] = Csub;
}

int main(int argc, char **argv)
{
    int devID = findCudaDevice(argc, (const char **)argv);
    sMatrixSize size = {512, 512, 512, 512, 512, 512};
    float *d_A, *d_B, *d_C;
    checkCudaErrors(cudaMalloc((void **)&d_A, size.uiWA * size.uiHA * sizeof(float)));
    checkCudaErrors(cudaMalloc((void **)&d_B, size.uiWB * size.uiHB * sizeof(float)));
    checkCudaErrors(cudaMalloc((void **)&d_C, size.uiWC * size.uiHC * sizeof(float)));
    cublasHandle_t handle;
    CUBLAS_CALL(cublasCreate(&handle));
    const float alpha = 1.0f, beta = 0.0f;
    StopWatchInterface *timer = NULL;
    sdkCreateTimer(&timer);
    sdkStartTimer(&timer);
    CUBLAS_CALL(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 512, 512, 512, &alpha, d_B, 512, d_A, 512, &beta, d_C, 512));
    dim3 threads(BLOCK_SIZE, BLOCK_SIZE), grid(512 / threads.x, 512 / threads.y);
    matmul_naive<<<grid, threads>>>(d_A, d_B, d_C, 512);
    matmul<<<grid, threads, 0, 0>>>(d_A, d_B, d_C, 512);
    getLastCudaError("kernel launch failed");
    sdkStopTimer(&timer);
    printf("%d: %.3f ms\n", devID, sdkGetTimerValue(&timer));
    cublasDestroy(handle);
    return EXIT_SUCCESS;
}
