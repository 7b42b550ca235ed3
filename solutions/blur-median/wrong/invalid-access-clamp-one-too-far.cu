// The clamp takes `width` as the last column.

#define TILE 16
#define WIDE (TILE + 2)

// Selection sort up to the middle. The loops have constant bounds, so v stays in registers.
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
    __shared__ unsigned char tile[WIDE][WIDE];

    for (int i = threadIdx.y * TILE + threadIdx.x; i < WIDE * WIDE; i += TILE * TILE) {
        int from_x = blockIdx.x * TILE + i % WIDE - 1;
        int from_y = blockIdx.y * TILE + i / WIDE - 1;
        from_x = min(max(from_x, 0), width - 1);
        from_y = min(max(from_y, 0), height);
        tile[i / WIDE][i % WIDE] = in[from_y * width + from_x];
    }
    __syncthreads();

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) {
        int v[9];
        for (int dy = 0; dy < 3; ++dy) {
            for (int dx = 0; dx < 3; ++dx) {
                v[3 * dy + dx] = tile[threadIdx.y + dy][threadIdx.x + dx];
            }
        }
        out[y * width + x] = median_of_9(v);
    }
}
