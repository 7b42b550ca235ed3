// histogram: 85 points
// Each thread loads four bytes at a time; the counts are in shared memory.
#define BINS 256
extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) own[b] = 0;
    __syncthreads();
    int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = thread; i < n / 4; i += threads) {
        uchar4 v = reinterpret_cast<const uchar4*>(data)[i];
        atomicAdd(&own[v.x], 1u); atomicAdd(&own[v.y], 1u);
        atomicAdd(&own[v.z], 1u); atomicAdd(&own[v.w], 1u);
    }
    for (int i = n / 4 * 4 + thread; i < n; i += threads) atomicAdd(&own[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (own[b]) atomicAdd(&bins[b], own[b]);
}
