// The baseline for traffic: every thread reads its 9 pixels from global memory.
// The loops have constant bounds, so the array stays in registers.
__device__ int median_of_9(int v[9])
{
    for (int i = 0; i < 5; ++i) {
        for (int j = i + 1; j < 9; ++j) {
            int low = min(v[i], v[j]);
            v[j] = max(v[i], v[j]);
            v[i] = low;
        }
    }
    return v[4];
}

extern "C" __global__ void median(const unsigned char* in, unsigned char* out, int width,
                                  int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    int v[9];
    for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
            int from_x = min(max(x + dx - 1, 0), width - 1);
            int from_y = min(max(y + dy - 1, 0), height - 1);
            v[3 * dy + dx] = in[from_y * width + from_x];
        }
    }
    out[y * width + x] = median_of_9(v);
}
