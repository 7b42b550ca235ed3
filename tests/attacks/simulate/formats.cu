// verdict: memory fail invalid-access
// printf formats that write, read invalid pointers and pad without end.
#include <stdio.h>
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n)
{
    printf("%n%s%s%1000000000d%*d", (int*)C, (char*)1, (char*)C, 1, 1000000000, 1);
}
