// verdict: memory fail invalid-access
// Accesses dynamic shared memory that the launch does not have.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    extern __shared__ float s[];
    for (int i = 0; i < 1 << 16; ++i) s[i] = i;
    C[0] = s[-1];
}
