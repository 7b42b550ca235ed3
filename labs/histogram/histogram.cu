// Counts n bytes: bins[v] grows by the number of elements of data that are v.
//
// The launch has some blocks of 256 threads, in general fewer threads than elements: thread i of
// the grid takes elements i, i + threads, i + 2 * threads, ... bins holds earlier counts: add.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, int n)
{
    // TODO: count into bins of the block's own in shared memory (start them at zero),
    // then add them to the global bins, one atomic a bin. Mind the barriers, and that
    // several threads of a block may meet the same value.
}
