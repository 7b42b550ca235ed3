// constant-convolution: 100 points
// Two of eight warps compute four rows each.
#define RADIUS 2
#define SIDE (2 * RADIUS + 1)
__constant__ float mask[SIDE][SIDE];
extern "C" __global__ void convolve(const float* in, float* out, int width, int height)
{
    if (threadIdx.y >= 2) return;
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 8; r += 2) {
        int y = blockIdx.y * 8 + r;
        if (x >= width || y >= height) continue;
        float sum = 0.0f;
        for (int j = 0; j < SIDE; ++j)
            for (int i = 0; i < SIDE; ++i) {
                int from_x = x + i - RADIUS, from_y = y + j - RADIUS;
                if (from_x >= 0 && from_x < width && from_y >= 0 && from_y < height)
                    sum += mask[j][i] * in[from_y * width + from_x];
            }
        out[y * width + x] = sum;
    }
}
