// verdict: output fail timeout
// Sleeps as long as it can, again and again.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    for (;;) __nanosleep(1000000000u);
}
