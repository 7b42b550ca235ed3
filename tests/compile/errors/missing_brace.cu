// expect: compile-error 3 expected a "}"
extern "C" __global__ void k(float* a) {
    a[threadIdx.x] = 1;

