// c = a + b for vectors of n floats, one thread an element.
//
// The launch has ceil(n / 256) blocks of 256 threads along x, so the last block may have threads
// to spare.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    // BEGIN SOLUTION
    // SKELETON: // TODO: work out which element is this thread's, from blockIdx.x, blockDim.x and
    // SKELETON: // threadIdx.x. Threads beyond the last element must touch nothing.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
    // END SOLUTION
}
