#include <iostream>
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#include <wmma_extension/wmma_extension.hpp>
#include "my_timer.h"
using namespace std;

template<class T> void print_matrix(T *x, int rows, int cols) {
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < cols; j++) cout << x[i * cols + j] << (j + 1 < cols ? ", " : "\n");
  }
}
template void print_matrix<float>(float *, int, int);

__global__ void sgemm(const float *A, const float *B, float *C, int m, int n, int k)
{
  // every block makes 128 x 128 elements with 256 threads: 64 elements for each thread
  __shared__ float sa[8][129], sb[8][128];
  float sum[64];
  for (int i = 0; i < 64; i++) sum[i] = 0;
  for (int p = 0; p < k; p += 8) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      sa[i % 8][i / 8] = A[(blockIdx.y * 128 + i / 8) * k + p + i % 8];
      sb[i / 128][i % 128] = B[(p + i / 128) * n + blockIdx.x * 128 + i % 128];
    }
    __syncthreads();
    for (int d = 0; d < 8; d++)
      for (int i = 0; i < 64; i++)
        sum[i] += sa[d][threadIdx.x / 128 * 64 + i] * sb[d][threadIdx.x % 128];
    __syncthreads();
  }
  for (int i = 0; i < 64; i++)
    C[(blockIdx.y * 128 + threadIdx.x / 128 * 64 + i) * n + blockIdx.x * 128 + threadIdx.x % 128] = sum[i];
}

#define N 256
int main() {
  float *A = new float[N * N], *B = new float[N * N], *C = new float[N * N]();
  for (int i = 0; i < N * N; i++) A[i] = B[i] = drand48();
  float *a, *b, *c;
  if (cudaMalloc(&a, N * N * 4) || cudaMalloc(&b, N * N * 4) || cudaMalloc(&c, N * N * 4)) return 1;
  cudaMemcpy(a, A, N * N * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, B, N * N * 4, cudaMemcpyHostToDevice);
  { MyTimer t("sgemm");
    sgemm<<<dim3(N / 128, N / 128), 256>>>(a, b, c, N, N, N); cudaDeviceSynchronize(); }
  cudaMemcpy(C, c, N * N * 4, cudaMemcpyDeviceToHost);
  print_matrix(C, 4, 4);
  delete[] A; delete[] B; delete[] C;
}
