#include <vector>
extern "C" __global__ void k(float* a) { a[0] = 1; }
