// Counts n bytes: bins[v] grows by the number of elements of data that are v.
//
// The launch has some blocks of 256 threads, in general fewer threads than elements: thread i of
// the grid takes elements i, i + threads, i + 2 * threads, ... bins holds earlier counts: add.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    // BEGIN SOLUTION
    // SKELETON: // TODO: count into bins of the block's own in shared memory (start them at zero),
    // SKELETON: // then add them to the global bins, one atomic a bin. Mind the barriers, and that
    // SKELETON: // several threads of a block may meet the same value.
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();

    if (own[threadIdx.x] > 0) {
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }
    // END SOLUTION
}
