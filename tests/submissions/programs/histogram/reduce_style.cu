#include <stdio.h>
#include <stdlib.h>
#include <cuda.h>
#include <math.h>
#include "support.h"

#define NUM_BINS 256
#define THREADS 256

unsigned int h_bins[NUM_BINS];

__global__ void histo_kernel(const unsigned char *buffer, unsigned int *histo, int size)
{
    __shared__ unsigned int temp[NUM_BINS];
    temp[threadIdx.x] = 0;
    __syncthreads();

    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int offset = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd(&temp[buffer[i]], 1);
        i += offset;
    }
    __syncthreads();
    if (temp[threadIdx.x]) atomicAdd(&(histo[threadIdx.x]), temp[threadIdx.x]);
}

void *big_random_block(int size)
{
    unsigned char *data = (unsigned char*)malloc(size);
    for (int i = 0; i < size; i++) data[i] = rand();
    return data;
}

int main(void)
{
    Timer timer;
    startTime(&timer);
    unsigned char *buffer = (unsigned char*)big_random_block(1 << 20);
    cudaEvent_t start, stop;
    cudaEventCreate(&start); cudaEventCreate(&stop);
    cudaEventRecord(start, 0);
    unsigned char *dev_buffer;
    unsigned int *dev_histo;
    cudaMalloc((void**)&dev_buffer, 1 << 20);
    cudaMemcpy(dev_buffer, buffer, 1 << 20, cudaMemcpyHostToDevice);
    cudaMalloc((void**)&dev_histo, NUM_BINS * sizeof(int));
    cudaMemset(dev_histo, 0, NUM_BINS * sizeof(int));
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    histo_kernel<<<prop.multiProcessorCount * 2, THREADS>>>(dev_buffer, dev_histo, 1 << 20);
    cudaMemcpy(h_bins, dev_histo, sizeof h_bins, cudaMemcpyDeviceToHost);
    stopTime(&timer);
    long count = 0;
    for (int i = 0; i < NUM_BINS; i++) count += h_bins[i];
    printf("Histogram Sum: %ld in %f s\n", count, elapsedTime(timer));
    free(buffer);
    return 0;
}
