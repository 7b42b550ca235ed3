// verdict: output fail launch-failure
// Stops at a breakpoint for a debugger.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    asm volatile("brkpt;");
}
