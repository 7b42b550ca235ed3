// tiled-matmul: 70 points
// The tiles are in global memory.
__device__ volatile float tiles[2][128][256];
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    float sum = 0.0f;
    for (int phase = 0; phase < n / 16; ++phase) {
        tiles[0][block][ty * 16 + tx] = A[row * n + phase * 16 + tx];
        tiles[1][block][ty * 16 + tx] = B[(phase * 16 + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            sum += tiles[0][block][ty * 16 + k] * tiles[1][block][k * 16 + tx];
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}
