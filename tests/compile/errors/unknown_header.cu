// expect: compile-error 2 there is no header vector in device code
#include <vector>
extern "C" __global__ void k(float* a) { a[0] = 1; }
