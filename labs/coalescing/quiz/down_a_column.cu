// A warp reads down a column of B.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k)
{
    int tid = threadIdx.x;
    C[tid] = B[tid * n];
}
