// A warp of a block of 16 x 16 threads covers two rows of C; each thread reads its column of B.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int tid = threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + tid;
    C[row * n + col] = B[col];
}
