#ifndef MATMUL_CU
#define MATMUL_CU
#include <stdio.h>
#include "timer.h"
#include "utils.h"

#ifdef USE_DOUBLE
typedef double real;
#else
typedef float real;
#endif

// Matrices are stored in row-major order:
typedef struct {
    int width;
    int height;
    int stride;
    real* elements;
} Matrix;

enum { BLOCK_SIZE = 16 };

__device__ real GetElement(const Matrix A, int row, int col) { return A.elements[row * A.stride + col]; }
__device__ void SetElement(Matrix A, int row, int col, real value) { A.elements[row * A.stride + col] = value; }
__device__ Matrix GetSubMatrix(Matrix A, int row, int col)
{
    Matrix Asub;
    Asub.width = BLOCK_SIZE;
    Asub.height = BLOCK_SIZE;
    Asub.stride = A.stride;
    Asub.elements = &A.elements[A.stride * BLOCK_SIZE * row + BLOCK_SIZE * col];
    return Asub;
}

__global__ void matmul(const real*, const real*, real*, int);

void MatMul(const Matrix A, const Matrix B, Matrix C)
{
    Matrix d_A;
    d_A.width = d_A.stride = A.width; d_A.height = A.height;
    size_t size = A.width * A.height * sizeof(real);
    cudaMalloc(&d_A.elements, size);
    cudaMemcpy(d_A.elements, A.elements, size, cudaMemcpyHostToDevice);
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid(B.width / dimBlock.x, A.height / dimBlock.y);
    matmul<<<dimGrid, dimBlock>>>(d_A.elements, B.elements, C.elements, A.width);
    cudaFree(d_A.elements);
}

__global__ void matmul(const real* a, const real* b, real* c, int n)
{
    Matrix A = {n, n, n, (real*)a}, B = {n, n, n, (real*)b}, C = {n, n, n, c};
    int blockRow = blockIdx.y, blockCol = blockIdx.x;
    Matrix Csub = GetSubMatrix(C, blockRow, blockCol);
    real Cvalue = 0;
    int row = threadIdx.y, col = threadIdx.x;
    for (int m = 0; m < (A.width / BLOCK_SIZE); ++m) {
        Matrix Asub = GetSubMatrix(A, blockRow, m);
        Matrix Bsub = GetSubMatrix(B, m, blockCol);
        __shared__ real As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ real Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[row][col] = GetElement(Asub, row, col);
        Bs[row][col] = GetElement(Bsub, row, col);
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e) Cvalue += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    SetElement(Csub, row, col, Cvalue);
}

int main(int argc, char** argv)
{
    Matrix A = {64, 64, 64, NULL}, B = A, C = A;
    GpuTimer timer;
    timer.Start();
    MatMul(A, B, C);
    timer.Stop();
    printf("Your code ran in: %f msecs.\n", timer.Elapsed());
    return 0;
}
#endif
