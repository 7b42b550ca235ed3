// kernel.cu : Visual Studio template
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <windows.h>
#include <conio.h>
#include <stdio.h>
#include <tchar.h>
cudaError_t multiplyWithCuda(float *c, const float *a, const float *b, unsigned int size);
__global__ void matmul(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < m && c < n)
    {
        float acc = 0.0f;
        for (int i = 0; i < k; i++)
            acc += A[r * k + i] * B[i * n + c];
        C[r * n + c] = acc;
    }
}
int _tmain(int argc, _TCHAR* argv[])
{
    LARGE_INTEGER f, t0, t1;
    QueryPerformanceFrequency(&f);
    QueryPerformanceCounter(&t0);
    const int arraySize = 64;
    float a[arraySize * arraySize] = { 0 };
    float b[arraySize * arraySize] = { 0 };
    float c[arraySize * arraySize] = { 0 };
    cudaError_t cudaStatus = multiplyWithCuda(c, a, b, arraySize);
    if (cudaStatus != cudaSuccess) { fprintf(stderr, "multiplyWithCuda failed!"); return 1; }
    QueryPerformanceCounter(&t1);
    cudaStatus = cudaDeviceReset();
    _getch();
    return 0;
}
cudaError_t multiplyWithCuda(float *c, const float *a, const float *b, unsigned int size)
{
    float *dev_a = 0, *dev_b = 0, *dev_c = 0;
    cudaError_t cudaStatus = cudaSetDevice(0);
    if (cudaStatus != cudaSuccess) { goto Error; }
    cudaStatus = cudaMalloc((void**)&dev_c, size * size * sizeof(float));
    if (cudaStatus != cudaSuccess) { goto Error; }
    matmul<<<dim3(2, 2), dim3(32, 32)>>>(dev_a, dev_b, dev_c, size, size, size);
    cudaStatus = cudaGetLastError();
Error:
    cudaFree(dev_c);
    cudaFree(dev_a);
    cudaFree(dev_b);
    return cudaStatus;
}
