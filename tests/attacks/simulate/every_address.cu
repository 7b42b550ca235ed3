// verdict: memory fail invalid-access
// Accesses every address that is a power of two.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    for (unsigned long a = 16; a < 1ul << 63; a *= 2) *(volatile float*)a = 1;
}
