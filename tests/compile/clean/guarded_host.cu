#ifndef __CUDA_ARCH__
#include <iostream>
#endif
extern "C" __global__ void k(float* a) { a[0] = 1; }
#ifndef __CUDA_ARCH__
int main() {
    k<<<1, 1>>>(nullptr);
    return 0;
}
#endif
