#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <omp.h>

#define M 64
#define N 96
#define K 32

float *A, *B, *C, *ref;        /* host */
float *dA, *dB, *dC;           /* device */
int m, n, k, sum, row;
clock_t t0;
dim3 block(32, 32);
FILE *out;

void usage(void);
void cpu(void);
extern "C" void dgemm_(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);

__global__ void matmul(const float *A, const float *B, float *C, int m, int n, int k)
{
  int row, col, p;
  float sum = 0.0;
  col = blockIdx.x * blockDim.x + threadIdx.x;
  row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    for (p = 0; p < k; p++)
      sum += A[row * k + p] * B[p * n + col];
    C[row * n + col] = sum;
  }
}

void usage(void) { fprintf(stderr, "usage: matmul m n k\n"); exit(2); }

void cpu(void) {
  int i, j, p;
  #pragma omp parallel for private(j, p)
  for (i = 0; i < m; i++)
    for (j = 0; j < n; j++) {
      float s = 0;
      for (p = 0; p < k; p++) s += A[i * k + p] * B[p * n + j];
      ref[i * n + j] = s;
    }
}

int main(int argc, char *argv[]) {
  if (argc != 4) usage();
  m = atoi(argv[1]); n = atoi(argv[2]); k = atoi(argv[3]);
  t0 = clock();
  cudaMalloc((void**)&dA, m * k * 4); cudaMalloc((void**)&dB, k * n * 4); cudaMalloc((void**)&dC, m * n * 4);
  dim3 grid((n + 31) / 32, (m + 31) / 32);
  matmul<<<grid, block>>>(dA, dB, dC, m, n, k);
  cudaThreadSynchronize();
  cpu();
  out = fopen("times.txt", "a");
  fprintf(out, "%d %f\n", n, (double)(clock() - t0) / CLOCKS_PER_SEC);
  return 0;
}
