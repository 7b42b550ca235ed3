// Homework 1: vector addition. Compile with: nvcc -O2 -o vecadd vecadd.cu
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <chrono>
#include <cuda_runtime.h>

#define BLOCK_SIZE 256
#define CUDA_CHECK(call)                                                              \
    do {                                                                              \
        cudaError_t status = (call);                                                  \
        if (status != cudaSuccess) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                        \
                    cudaGetErrorString(status));                                      \
            exit(EXIT_FAILURE);                                                       \
        }                                                                             \
    } while (0)

struct GpuTimer {
    cudaEvent_t begin, end;
    GpuTimer() { cudaEventCreate(&begin); cudaEventCreate(&end); }
    ~GpuTimer() { cudaEventDestroy(begin); cudaEventDestroy(end); }
    void start() { cudaEventRecord(begin, 0); }
    float stop() {
        float ms;
        cudaEventRecord(end, 0);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, begin, end);
        return ms;
    }
};

static void fill(float *v, int n) {
    for (int i = 0; i < n; i++) v[i] = rand() / (float)RAND_MAX;
}

__global__ void vector_add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    size_t bytes = n * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes);
    fill(a, n);
    fill(b, n);
    float *d_a, *d_b, *d_c;
    CUDA_CHECK(cudaMalloc((void **)&d_a, bytes));
    CUDA_CHECK(cudaMalloc((void **)&d_b, bytes));
    CUDA_CHECK(cudaMalloc((void **)&d_c, bytes));
    CUDA_CHECK(cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice));
    GpuTimer timer;
    timer.start();
    vector_add<<<(n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(d_a, d_b, d_c, n);
    CUDA_CHECK(cudaGetLastError());
    printf("kernel: %f ms\n", timer.stop());
    CUDA_CHECK(cudaMemcpy(c, d_c, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (fabs(c[i] - (a[i] + b[i])) > 1e-5) {
            printf("wrong at %d\n", i);
            return 1;
        }
    printf("PASSED\n");
    return 0;
}
