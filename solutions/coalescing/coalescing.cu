// C = A B for any sizes: A is m x k, B is k x n, C is m x n, row-major floats; no shared memory.
//
// The launch has ceil(n / 32) x ceil(m / 32) blocks of 32 x 32 threads, one element of C a thread.
// The 32 threads of a warp share threadIdx.y and differ in threadIdx.x.

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    // BEGIN SOLUTION
    // SKELETON: // TODO: give this thread its row and its column of C, so that the threads of a
    // SKELETON: // warp load neighbouring elements of B and store neighbouring elements of C.
    // SKELETON: int row = m;
    // SKELETON: int col = n;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    // END SOLUTION

    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            sum += A[row * k + p] * B[p * n + col];
        }
        C[row * n + col] = sum;
    }
}
