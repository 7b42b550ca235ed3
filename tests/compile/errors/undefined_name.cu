// expect: compile-error 4:14 identifier "n" is undefined
extern "C" __global__ void k(float* a) {
    int i = threadIdx.x;
    if (i >= n) return;
    a[i] = i;
}
