// Neighboring threads access elements that are a grid apart.

#define WINDOW 16

extern "C" __global__ void
__launch_bounds__(1024, 2)
smooth(const float* x, float* y, int n)
{
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i >= n) {
        return;
    }
    float sum = 0.0f;
    float largest = x[i];
    for (int j = 0; j < WINDOW; ++j) {
        float value = x[i + j];
        sum += value * (float)(j + 1);
        largest = fmaxf(largest, value);
    }
    y[i] = sum - largest;
}

// Compute the largest block size for a multiprocessor that holds threads_per_sm threads in at most
// blocks_per_sm blocks: a multiple of 32, at most `most`, that fills it. Runs with one thread.
extern "C" __global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most,
                                        int* block)
{
    int best = 32;
    for (int threads = 32; threads <= most; threads += 32) {
        if (threads_per_sm % threads == 0 && threads_per_sm / threads <= blocks_per_sm) {
            best = threads;
        }
    }
    *block = best;
}
