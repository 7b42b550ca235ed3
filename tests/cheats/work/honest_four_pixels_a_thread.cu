// blur-median: 100 points
// Thread coarsening: a quarter of the threads compute four pixels each; all threads load.
#define TILE 16
#define WIDE (TILE + 2)
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
extern "C" __global__ void median(const unsigned char* in, unsigned char* out, int width, int height)
{
    __shared__ unsigned char tile[WIDE][WIDE];
    for (int i = threadIdx.y * TILE + threadIdx.x; i < WIDE * WIDE; i += TILE * TILE) {
        int from_x = min(max((int)blockIdx.x * TILE + i % WIDE - 1, 0), width - 1);
        int from_y = min(max((int)blockIdx.y * TILE + i / WIDE - 1, 0), height - 1);
        tile[i / WIDE][i % WIDE] = in[from_y * width + from_x];
    }
    __syncthreads();
    if (threadIdx.y >= 4) return;
    int x = blockIdx.x * TILE + threadIdx.x;
    for (int ty = threadIdx.y; ty < TILE; ty += 4) {
        int y = blockIdx.y * TILE + ty;
        if (x < width && y < height) {
            int v[9];
            for (int dy = 0; dy < 3; ++dy)
                for (int dx = 0; dx < 3; ++dx) v[3 * dy + dx] = tile[ty + dy][threadIdx.x + dx];
            out[y * width + x] = median_of_9(v);
        }
    }
}
