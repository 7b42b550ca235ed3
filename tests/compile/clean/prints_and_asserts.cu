#include <cassert>
#include <cstdio>
extern "C" __global__ void k(float* a) {
    assert(a != nullptr);
    printf("%s %d %s\n", __FILE__, __LINE__, __func__);
}
