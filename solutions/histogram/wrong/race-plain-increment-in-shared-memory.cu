// Two threads with the same value read and write its bin at the same time.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        own[data[i]] += 1;
    }
    __syncthreads();

    if (own[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
}
