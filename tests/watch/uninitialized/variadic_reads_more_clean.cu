// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 5]}
// expect: clean
#include <cstdarg>
__device__ __noinline__ int total(int n, ...) {
    va_list values;
    va_start(values, n);
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += va_arg(values, int);
    return sum;
}
__device__ __noinline__ int count(int n, ...) { return n; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    out[threadIdx.x] = total(2, n, 2) + total(3, n, 2, 1) + total(0) + count(9, 1);
}
