// The baseline for traffic: the mask is in global memory, like the picture.
#define RADIUS 2
#define SIDE (2 * RADIUS + 1)

__device__ float mask[SIDE][SIDE];

extern "C" __global__ void convolve(const float* in, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float sum = 0.0f;
    for (int j = 0; j < SIDE; ++j) {
        for (int i = 0; i < SIDE; ++i) {
            int from_x = x + i - RADIUS;
            int from_y = y + j - RADIUS;
            if (from_x >= 0 && from_x < width && from_y >= 0 && from_y < height) {
                sum += mask[j][i] * in[from_y * width + from_x];
            }
        }
    }
    out[y * width + x] = sum;
}
