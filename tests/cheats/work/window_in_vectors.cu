// occupancy: 60 points
// The window in global memory, four elements a store.
__device__ float4 window[4][8192];
extern "C" __global__ void __launch_bounds__(1024, 2) smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < 4; ++j)
        window[j][i] = make_float4(x[i + 4 * j], x[i + 4 * j + 1], x[i + 4 * j + 2], x[i + 4 * j + 3]);
    float sum = 0.0f, largest = x[i];
    for (int j = 0; j < 16; ++j) {
        float v = ((volatile float*)&window[j / 4][i])[j % 4];
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
