// histogram: 85 points
// Lanes with equal bytes count once for all of them.
#define BINS 256
// Warp-aggregated: one shared atomic for each distinct value of a warp.
extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned int value = data[i];
        unsigned int active = __activemask();
        unsigned int peers = __match_any_sync(active, value);
        if (lane == __ffs(peers) - 1) {
            atomicAdd(&own[value], __popc(peers));
        }
    }
    __syncthreads();
    if (own[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
}
