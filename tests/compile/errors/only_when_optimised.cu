// expect: compile-error 4 no debugging here
extern "C" __global__ void k(float* a) { a[0] = 1; }
#ifndef __CUDACC_DEBUG__
#error no debugging here
#endif
