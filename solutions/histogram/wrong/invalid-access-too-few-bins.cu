// There are half as many bins as values.

#define BINS 128

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    if (threadIdx.x < BINS) {
        own[threadIdx.x] = 0;
    }
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();

    if (threadIdx.x < BINS) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
}
