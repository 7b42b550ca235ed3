// verdict: memory fail invalid-access
// Every power of two as an address.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    for (unsigned long a = 16; a < 1ul << 63; a *= 2) *(volatile float*)a = 1;
}
