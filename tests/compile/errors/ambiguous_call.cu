// expect: compile-error 4:14 more than one instance of overloaded function "ceil"
// hint: pass a float, such as ceil((float)x); for integers, a / b rounds down and (a + b - 1) / b rounds up
extern "C" __global__ void k(float* a, int n) {
    int up = ceil(n / 16);
    a[threadIdx.x] = up;
}
