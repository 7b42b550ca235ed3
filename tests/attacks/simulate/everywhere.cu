// verdict: memory fail invalid-access
// Reads and writes addresses one gigabyte apart.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    for (long i = -1L << 40; i < 1L << 40; i += 1L << 30) C[i] = A[i] + B[-i];
}
