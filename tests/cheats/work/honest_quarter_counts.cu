// histogram: 85 points
// A quarter of the warps count, two elements in turn; all threads clear and merge the bins.
extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < 64) {
        int step = gridDim.x * 64;
        for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += step) atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();
    if (own[threadIdx.x]) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
