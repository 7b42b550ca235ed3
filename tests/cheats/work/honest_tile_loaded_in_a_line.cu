// constant-convolution: 100 points
// The tile and its halo are loaded element after element by all threads.
#define RADIUS 2
#define SIDE (2 * RADIUS + 1)
#define W (32 + 2 * RADIUS)
#define H (8 + 2 * RADIUS)
__constant__ float mask[SIDE][SIDE];
extern "C" __global__ void convolve(const float* in, float* out, int width, int height)
{
    __shared__ float tile[H][W];
    for (int i = threadIdx.y * 32 + threadIdx.x; i < W * H; i += 256) {
        int x = blockIdx.x * 32 + i % W - RADIUS;
        int y = blockIdx.y * 8 + i / W - RADIUS;
        bool inside = x >= 0 && x < width && y >= 0 && y < height;
        tile[i / W][i % W] = inside ? in[y * width + x] : 0.0f;
    }
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int j = 0; j < SIDE; ++j)
        for (int i = 0; i < SIDE; ++i)
            sum += mask[j][i] * tile[threadIdx.y + j][threadIdx.x + i];
    out[y * width + x] = sum;
}
