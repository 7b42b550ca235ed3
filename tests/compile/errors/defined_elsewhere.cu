// expect: compile-error 3 function `place` is declared, but this file has no definition of it
// hint: define it in this file, or in a header that the file includes
__device__ int place(int i);
extern "C" __global__ void k(float* a) { a[place(1)] = 1; }
