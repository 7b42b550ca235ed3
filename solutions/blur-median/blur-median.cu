// out = the median of each pixel's 3 x 3 neighborhood, for pictures of height x width bytes.
//
// The launch has ceil(width / 16) x ceil(height / 16) blocks of 16 x 16 threads, one pixel per
// thread. Beyond the edge of the picture the nearest pixel counts: column -1 is column 0.

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
    // BEGIN SOLUTION
    // SKELETON: // TODO: declare a tile of WIDE x WIDE bytes in shared memory: the block's pixels
    // SKELETON: // and a border of one pixel around them. Load its 324 bytes with the 256 threads,
    // SKELETON: // use the nearest pixel inside for pixels beyond the edge, and add a barrier.
    __shared__ unsigned char tile[WIDE][WIDE];

    for (int i = threadIdx.y * TILE + threadIdx.x; i < WIDE * WIDE; i += TILE * TILE) {
        int from_x = blockIdx.x * TILE + i % WIDE - 1;
        int from_y = blockIdx.y * TILE + i / WIDE - 1;
        from_x = min(max(from_x, 0), width - 1);
        from_y = min(max(from_y, 0), height - 1);
        tile[i / WIDE][i % WIDE] = in[from_y * width + from_x];
    }
    __syncthreads();
    // END SOLUTION

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) {
        int v[9];
        for (int dy = 0; dy < 3; ++dy) {
            for (int dx = 0; dx < 3; ++dx) {
                // BEGIN SOLUTION
                // SKELETON: // TODO: read the neighbor's pixel from the tile.
                // SKELETON: v[3 * dy + dx] = 0;
                v[3 * dy + dx] = tile[threadIdx.y + dy][threadIdx.x + dx];
                // END SOLUTION
            }
        }
        out[y * width + x] = median_of_9(v);
    }
}
