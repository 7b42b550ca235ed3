// expect: compile-error 2 #include of another file, ../solution.cu
#include "../solution.cu"
extern "C" __global__ void k(float* a) { a[0] = 1; }
