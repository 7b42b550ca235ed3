// histogram: 85 points
// Each thread loads sixteen bytes at a time.
#define BINS 256
extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    const uint4* wide = (const uint4*)data;
    for (int i = thread; i < n / 16; i += threads) {
        uint4 w = wide[i];
        unsigned int words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            atomicAdd(&own[words[j] & 255], 1u);
            atomicAdd(&own[words[j] >> 8 & 255], 1u);
            atomicAdd(&own[words[j] >> 16 & 255], 1u);
            atomicAdd(&own[words[j] >> 24], 1u);
        }
    }
    for (int i = n / 16 * 16 + thread; i < n; i += threads) {
        atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();
    if (own[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
}
