// expect: compile-error 4 expected a "}"
// hint: a { further up is never closed
extern "C" __global__ void k(float* a) {
    a[threadIdx.x] = 1;

