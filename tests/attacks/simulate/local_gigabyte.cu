// verdict: output fail launch-failure
// A local array of a gigabyte for each thread.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    volatile char all[1 << 30];
    all[n] = 1;
    C[0] = all[n + 1];
}
