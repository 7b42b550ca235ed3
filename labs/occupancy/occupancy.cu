// y[i] = 1 * x[i] + 2 * x[i + 1] + ... + 16 * x[i + 15] - the largest of these 16 elements of x;
// x has n + 15 elements, y has n.
//
// The launch has ceil(n / block) blocks of as many threads as choose_block answers, or some other
// number of at most 1024: one element of y a thread.

#define WINDOW 16

extern "C" __global__ void
// TODO: __launch_bounds__(threads of a block at most, blocks that must fit at least)
smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    // TODO: this array is indexed at run time, so it lies in local memory, and it is
    // never added up. Make do with registers.
    float window[WINDOW];
    for (int j = 0; j < WINDOW; ++j) {
        window[(i + j) % WINDOW] = x[i + j];
    }
    y[i] = window[i % WINDOW];
}

// The largest block for a multiprocessor that holds threads_per_sm threads in at most blocks_per_sm
// blocks: a multiple of 32, at most `most`, such that whole blocks fill it; 32 when none do. Runs
// with one thread.
extern "C" __global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most,
                                        int* block)
{
    // TODO: go through the multiples of 32.
    *block = 32;
}
