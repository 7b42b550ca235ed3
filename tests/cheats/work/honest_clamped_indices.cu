// boundary-matmul: 85 points
// A thread outside the matrix loads an element inside and multiplies it by zero.
#define TILE 16
// Indices are clamped rather than guarded; products beyond the edge are zero.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        int a = first + tx, b = first + ty;
        float va = A[min(row, m - 1) * k + min(a, k - 1)];
        float vb = B[min(b, k - 1) * n + min(col, n - 1)];
        As[ty][tx] = a < k ? va : 0.0f;
        Bs[ty][tx] = b < k ? vb : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
