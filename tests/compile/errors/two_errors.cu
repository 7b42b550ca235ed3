// expect: compile-error 4 identifier "x" is undefined
// expect: compile-error 5 identifier "y" is undefined
extern "C" __global__ void k(float* a) {
    a[0] = x;
    a[1] = y;
}
