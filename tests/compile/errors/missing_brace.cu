// expect: compile-error 4 expected a "}"
// hint: close the { further up that has no }
extern "C" __global__ void k(float* a) {
    a[threadIdx.x] = 1;

