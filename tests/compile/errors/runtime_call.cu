// expect: compile-error 4 this is a whole program
// hint: delete line 4 (allocate: cudaMalloc)
extern "C" __global__ void k(float* a) { a[0] = 1; }
void allocate(float** a) { cudaMalloc(a, 4); }
