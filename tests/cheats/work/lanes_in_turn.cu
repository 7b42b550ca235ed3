// coalescing: 60 points
// The baseline, one lane after the other: one sector for each request.
// The baseline (threadIdx.x runs down the rows), the lanes of a warp one after another.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int blocks = gridDim.x * gridDim.y;
    int wide = (m + 31) / 32;                       // the baseline's grid
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    (void)blocks;
    int row = block % wide * 32 + threadIdx.x;
    int col = block / wide * 32 + threadIdx.y;
#pragma unroll
    for (int turn = 0; turn < 32; ++turn) {
        if (turn == (int)threadIdx.x && row < m && col < n) {
            float sum = 0.0f;
            for (int p = 0; p < k; ++p) sum += A[row * k + p] * B[p * n + col];
            C[row * n + col] = sum;
        }
        __syncwarp();
    }
}
