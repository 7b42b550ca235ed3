#pragma once
#include <stddef.h>
#include "common.h"
#include "../include/timer.hpp"
#ifdef __cplusplus
extern "C" {
#endif
__global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float s = 0;
    for (int p = 0; p < k; ++p) s += A[row * k + p] * B[p * n + col];
    C[row * n + col] = s;
}
int launch_matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    dim3 block(32, 32), grid((n + 31) / 32, (m + 31) / 32);
    float *a, *b, *c;
    cudaMalloc((void**)&a, sizeof(float) * m * k); cudaMalloc((void**)&b, sizeof(float) * k * n); cudaMalloc((void**)&c, sizeof(float) * m * n);
    cudaMemcpy(a, A, sizeof(float) * m * k, cudaMemcpyHostToDevice);
    cudaMemcpy(b, B, sizeof(float) * k * n, cudaMemcpyHostToDevice);
    matmul<<<grid, block>>>(a, b, c, m, n, k);
    return (int)cudaMemcpy(C, c, sizeof(float) * m * n, cudaMemcpyDeviceToHost);
}
#ifdef __cplusplus
}
#endif
