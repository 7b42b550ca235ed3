#include "../common/common.h"
#include <cuda_runtime.h>
#include <stdio.h>
#include <sys/time.h>

/*
 * Compare two thread mappings of the naive matrix multiplication: rows along x, columns along x.
 */

double seconds()
{
    struct timeval tp;
    struct timezone tzp;
    gettimeofday(&tp, &tzp);
    return ((double)tp.tv_sec + (double)tp.tv_usec * 1.e-6);
}

void initialData(float *ip, const int size)
{
    for (int i = 0; i < size; i++) ip[i] = (float)(rand() & 0xFF) / 100.0f;
}

void multiplyOnHost(float *A, float *B, float *C, const int m, const int n, const int k)
{
    for (int row = 0; row < m; row++)
        for (int col = 0; col < n; col++) {
            float sum = 0;
            for (int p = 0; p < k; p++) sum += A[row * k + p] * B[p * n + col];
            C[row * n + col] = sum;
        }
}

void checkResult(float *hostRef, float *gpuRef, const int N)
{
    double epsilon = 1.0E-3;
    bool match = 1;
    for (int i = 0; i < N; i++)
        if (abs(hostRef[i] - gpuRef[i]) > epsilon) { match = 0; break; }
    printf(match ? "Arrays match.\n\n" : "Arrays do not match.\n\n");
}

__global__ void rowsAlongX(const float *A, const float *B, float *C, int m, int n, int k, int unused)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0;
        for (int p = 0; p < k; p++) sum += A[row * k + p] * B[p * n + col];
        C[row * n + col] = sum;
    }
}

// the fast one
__global__ void matmul(const float *A, const float *B, float *C, int m, int n, int k)
{
    unsigned int ix = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int iy = threadIdx.y + blockIdx.y * blockDim.y;
    if (iy < m && ix < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[iy * k + p] * B[p * n + ix];
        C[iy * n + ix] = sum;
    }
}

int main(int argc, char **argv)
{
    printf("%s Starting...\n", argv[0]);
    int dev = 0;
    cudaDeviceProp deviceProp;
    CHECK(cudaGetDeviceProperties(&deviceProp, dev));
    CHECK(cudaSetDevice(dev));
    int m = 512, n = 512, k = 512;
    int nBytes = m * n * sizeof(float);
    float *h_A = (float *)malloc(nBytes), *h_B = (float *)malloc(nBytes);
    float *hostRef = (float *)malloc(nBytes), *gpuRef = (float *)malloc(nBytes);
    double iStart = seconds();
    initialData(h_A, m * k);
    initialData(h_B, k * n);
    multiplyOnHost(h_A, h_B, hostRef, m, n, k);
    printf("host %f sec\n", seconds() - iStart);
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc((void **)&d_A, nBytes));
    CHECK(cudaMalloc((void **)&d_B, nBytes));
    CHECK(cudaMalloc((void **)&d_C, nBytes));
    CHECK(cudaMemcpy(d_A, h_A, nBytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, nBytes, cudaMemcpyHostToDevice));
    dim3 block(32, 32);
    dim3 grid((n + block.x - 1) / block.x, (m + block.y - 1) / block.y);
    rowsAlongX<<<grid, block>>>(d_A, d_B, d_C, m, n, k, 0);
    matmul<<<grid, block>>>(d_A, d_B, d_C, m, n, k);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(gpuRef, d_C, nBytes, cudaMemcpyDeviceToHost));
    checkResult(hostRef, gpuRef, m * n);
    CHECK(cudaDeviceReset());
    return (0);
}
