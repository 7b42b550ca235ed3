// expect: cheat 3 `__CUDACC_DEBUG__` makes the graded kernel differ
extern "C" __global__ void k(float* a) { a[0] = 1; }
#ifndef __CUDACC_DEBUG__
#error no debugging here
#endif
