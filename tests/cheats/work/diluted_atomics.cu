// coalescing: 60 points
// Reads by atomics, with many further ones of one address beside them.
// The baseline; its strided loads are atomics, with broadcast atomics that dilute the mean.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int wide = (m + 31) / 32;
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    int row = block % wide * 32 + threadIdx.x;
    int col = block / wide * 32 + threadIdx.y;
    unsigned* spin = (unsigned*)A;
    float sum = 0.0f;
    if (row < m && col < n) {
        for (int p = 0; p < k; ++p) {
            float a = __uint_as_float(atomicOr((unsigned*)&A[row * k + p], 0u));
#pragma unroll
            for (int d = 0; d < 8; ++d) atomicOr(spin, 0u);
            sum += a * B[p * n + col];
        }
    }
#pragma unroll
    for (int turn = 0; turn < 32; ++turn) {
        if (turn == (int)threadIdx.x && row < m && col < n) C[row * n + col] = sum;
        __syncwarp();
    }
}
