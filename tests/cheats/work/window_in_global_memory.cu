// occupancy: 60 points
// The array of each thread is global memory: fewer registers, twice the bytes.
#define WINDOW 16
// The baseline: its array is moved to global memory, so that nothing is local.
__device__ float window[WINDOW][8192];
extern "C" __global__ void __launch_bounds__(1024, 2) smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < WINDOW; ++j) window[j][i] = x[i + j];
    float sum = 0.0f;
    float largest = x[i];
    for (int j = 0; j < WINDOW; ++j) {
        sum += window[j][i] * (float)(j + 1);
        largest = fmaxf(largest, window[j][i]);
    }
    y[i] = sum - largest;
}
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
