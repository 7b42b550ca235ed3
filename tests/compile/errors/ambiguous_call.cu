// expect: compile-error 4:14 more than one instance of overloaded function "ceil"
// hint: give it a float, such as ceil((float)x); with whole numbers a / b rounds down already, and (a + b - 1) / b up
extern "C" __global__ void k(float* a, int n) {
    int up = ceil(n / 16);
    a[threadIdx.x] = up;
}
