// verdict: output fail timeout
// Waits for a clock value that never comes.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    long long start = clock64();
    while (clock64() - start < 1ll << 62) {}
}
