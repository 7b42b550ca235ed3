// expect: compile-error 5:5 expected a ";"
// hint: put it at the end of line 4
extern "C" __global__ void k(float* a) {
    int i = threadIdx.x
    a[i] = i;
}
