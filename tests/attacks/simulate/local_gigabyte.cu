// verdict: output fail launch-failure
// Each thread has a local array of one gigabyte.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    volatile char all[1 << 30];
    all[n] = 1;
    C[0] = all[n + 1];
}
