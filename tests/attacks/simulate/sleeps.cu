// verdict: output fail timeout
// Sleeps as long as possible, in a loop.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    for (;;) __nanosleep(1000000000u);
}
