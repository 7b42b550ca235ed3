// expect: compile-error 4:5 expected a ";"
extern "C" __global__ void k(float* a) {
    int i = threadIdx.x
    a[i] = i;
}
