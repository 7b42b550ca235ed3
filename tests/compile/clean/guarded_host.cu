#ifndef __CUDACC_RTC__
#include <iostream>
#endif
extern "C" __global__ void k(float* a) { a[0] = 1; }
#ifndef __CUDACC_RTC__
int main() {
    k<<<1, 1>>>(nullptr);
    return 0;
}
#endif
