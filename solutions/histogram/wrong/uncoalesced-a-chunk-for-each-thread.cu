// Every thread counts a contiguous chunk, so neighboring threads read far apart.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();

    int each = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
    int from = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int i = from; i < from + each && i < n; ++i) {
        atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();

    if (own[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
}
