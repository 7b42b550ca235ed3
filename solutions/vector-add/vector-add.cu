// c = a + b for vectors of n floats, one thread per element.
//
// The launch has ceil(n / 256) blocks of 256 threads along x, so some threads of the last block may
// have no element.

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    // BEGIN SOLUTION
    // SKELETON: // TODO: compute the index of this thread's element from blockIdx.x, blockDim.x and
    // SKELETON: // threadIdx.x. Threads beyond the last element must not read or write.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
    // END SOLUTION
}
