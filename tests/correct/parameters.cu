// Parameters whose address a function takes: large structs by value, and the values behind `...`.
#include <cstdarg>

struct Wide { int a[40]; };
struct Odd { char a[133]; };

__device__ __noinline__ int element(Wide w, int k) { return w.a[k]; }

// kernel wide grid 1 block 32
// out y int32 = [2 * i for i in range(32)]
extern "C" __global__ void wide(int *y) {
    Wide w;
    for (int k = 0; k < 40; ++k) w.a[k] = 2 * k;
    y[threadIdx.x] = element(w, threadIdx.x);
}

__device__ __noinline__ int changed(Wide w, int k) {
    w.a[k] += 100;
    return w.a[k] + w.a[39];
}

// A copy is the function's own.
// kernel own_copy grid 1 block 32
// out y int32 = [3 * i + 100 + 117 for i in range(32)]
extern "C" __global__ void own_copy(int *y) {
    Wide w;
    for (int k = 0; k < 40; ++k) w.a[k] = 3 * k;
    int first = changed(w, threadIdx.x);
    int second = changed(w, threadIdx.x);
    y[threadIdx.x] = first == second && w.a[threadIdx.x] == 3 * threadIdx.x ? first : -1;
}

__device__ __noinline__ int deeper(Odd o, int depth) {
    o.a[depth] += 1;
    return depth ? deeper(o, depth - 1) + o.a[depth] : o.a[0] + o.a[132];
}

// kernel odd_bytes grid 1 block 32
// out y int32 = [17] * 32
extern "C" __global__ void odd_bytes(int *y) {
    Odd o = {};
    o.a[132] = 12;
    y[threadIdx.x] = deeper(o, 4);
}

struct Partly { double v[20]; };
__device__ __noinline__ double first_of(Partly p, int k) { return p.v[k]; }

// What is not set is passed, and not used.
// kernel partly_set grid 1 block 32
// out y float64 = [i % 10 for i in range(32)]
extern "C" __global__ void partly_set(double *y) {
    Partly p;
    for (int k = 0; k < 10; ++k) p.v[k] = k;
    y[threadIdx.x] = first_of(p, threadIdx.x % 10);
}

template <class F> __device__ double applied(F f, int k) { return f(k); }

// kernel large_lambda grid 1 block 32
// out y float64 = [20.0 * i + 1 for i in range(32)]
extern "C" __global__ void large_lambda(double *y) {
    Partly p;
    for (double &x : p.v) x = threadIdx.x;
    y[threadIdx.x] = applied(
        [p](int k) {
            double sum = k;
            for (double x : p.v) sum += x;
            return sum;
        },
        1);
}

__device__ double total(int n, ...) {
    va_list values;
    va_start(values, n);
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += va_arg(values, int) * va_arg(values, double);
    va_end(values);
    return sum;
}

// kernel variadic grid 1 block 32
// out y float64 = [3.0 * i + 2 * 4.5 + 30 for i in range(32)]
extern "C" __global__ void variadic(double *y) {
    y[threadIdx.x] = total(2, (int)threadIdx.x, 3.0, 2, 4.5) + total(1, 5, 6.0) + total(0);
}
