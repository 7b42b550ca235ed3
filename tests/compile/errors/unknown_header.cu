// expect: compile-error 2 the header vector is not available in device code
#include <vector>
extern "C" __global__ void k(float* a) { a[0] = 1; }
