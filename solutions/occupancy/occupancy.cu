// y[i] = 1 * x[i] + 2 * x[i + 1] + ... + 16 * x[i + 15] - the largest of these 16 elements of x;
// x has n + 15 elements, y has n.
//
// The launch has ceil(n / block) blocks of as many threads as choose_block answers, or some other
// number of at most 1024: one element of y a thread.

#define WINDOW 16

extern "C" __global__ void
// BEGIN SOLUTION
// SKELETON: // TODO: __launch_bounds__(threads of a block at most, blocks that must fit at least)
__launch_bounds__(1024, 2)
// END SOLUTION
smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    // BEGIN SOLUTION
    // SKELETON: // TODO: this array is indexed at run time, so it lies in local memory, and it is
    // SKELETON: // never added up. Make do with registers.
    // SKELETON: float window[WINDOW];
    // SKELETON: for (int j = 0; j < WINDOW; ++j) {
    // SKELETON:     window[(i + j) % WINDOW] = x[i + j];
    // SKELETON: }
    // SKELETON: y[i] = window[i % WINDOW];
    float sum = 0.0f;
    float largest = x[i];
    for (int j = 0; j < WINDOW; ++j) {
        float value = x[i + j];
        sum += value * (float)(j + 1);
        largest = fmaxf(largest, value);
    }
    y[i] = sum - largest;
    // END SOLUTION
}

// The largest block for a multiprocessor that holds threads_per_sm threads in at most blocks_per_sm
// blocks: a multiple of 32, at most `most`, such that whole blocks fill it; 32 when none do. Runs
// with one thread.
extern "C" __global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most,
                                        int* block)
{
    // BEGIN SOLUTION
    // SKELETON: // TODO: go through the multiples of 32.
    // SKELETON: *block = 32;
    int best = 32;
    for (int threads = 32; threads <= most; threads += 32) {
        if (threads_per_sm % threads == 0 && threads_per_sm / threads <= blocks_per_sm) {
            best = threads;
        }
    }
    *block = best;
    // END SOLUTION
}
