// occupancy: 65 points
// The window is in the stack frame of a function that is called by its address.
__device__ __noinline__ float window_of(const float* x, int i)
{
    float window[16];
    for (int j = 0; j < 16; ++j) window[(i + j) % 16] = x[i + j];
    float s = 0, big = x[i];
    for (int j = 0; j < 16; ++j) { s += window[(i + j) % 16] * (float)(j + 1); big = fmaxf(big, window[(i + j) % 16]); }
    return s - big;
}
typedef float (*F)(const float*, int);
__constant__ F table[2] = {window_of, window_of};
extern "C" __global__ void __launch_bounds__(1024, 2) smooth(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table[n & 1](x, i);
}
extern "C" __global__ void choose_block(int a, int b, int c, int* r) { *r = 32; for (int t = 32; t <= c; t += 32) if (!(a % t) && a / t <= b) *r = t; }
