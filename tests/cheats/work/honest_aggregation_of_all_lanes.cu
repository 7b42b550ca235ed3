// histogram: 85 points
// Whole warps go round together, and each adds equal bytes up: where all are equal, few reach shared memory.
extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x, rounds = (n + stride - 1) / stride;
    for (int r = 0; r < rounds; ++r) {
        int i = r * stride + blockIdx.x * blockDim.x + threadIdx.x;
        unsigned int there = __ballot_sync(0xffffffffu, i < n);
        if (i < n) {
            unsigned int equal = __match_any_sync(there, data[i]);
            if ((threadIdx.x & 31) == __ffs(equal) - 1)
                atomicAdd(&own[data[i]], __popc(equal));
        }
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], (unsigned int)own[threadIdx.x]);
}
