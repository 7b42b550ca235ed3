// verdict: output fail timeout
// Prints without end.
#include <stdio.h>
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    for (;;) printf("%s", "the same again, and again, and again, and again, and again");
}
