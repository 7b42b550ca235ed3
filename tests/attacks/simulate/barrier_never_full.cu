// verdict: output fail barrier-divergence
// verdict: sync fail barrier-divergence
// A barrier that waits for more threads than the block has.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    asm volatile("bar.sync 15, 1024;");
}
