// A warp writes a tile of 32 rows by rows and reads its first column: element (tid, 0).

#define WIDE 32

extern "C" __global__ void column(const float* x, float* y)
{
    __shared__ float tile[32][WIDE];

    for (int row = 0; row < 32; ++row) {
        tile[row][threadIdx.x] = x[row * 32 + threadIdx.x];
    }
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x][0];
}
