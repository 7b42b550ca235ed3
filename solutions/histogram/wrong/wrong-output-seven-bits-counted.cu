// The upper half of the values is counted in the bins of the lower half.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[data[i] & 127], 1u);
    }
    __syncthreads();

    if (own[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
}
