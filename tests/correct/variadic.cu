// Functions with `...` that are called through pointers, tables and virtual functions.
#include <cstdarg>

typedef int (*Reduction)(int, ...);

__device__ __noinline__ int total(int n, ...) {
    va_list values;
    va_start(values, n);
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += va_arg(values, int);
    va_end(values);
    return sum;
}

__device__ __noinline__ int largest(int n, ...) {
    va_list values;
    va_start(values, n);
    int most = -1000;
    for (int k = 0; k < n; ++k) most = max(most, va_arg(values, int));
    va_end(values);
    return most;
}

__device__ __noinline__ int count(int n, ...) { return n; }

// kernel chosen grid 1 block 32
// out y int32 = [3 * i + 3 if i % 2 else i + 2 for i in range(32)]
extern "C" __global__ void chosen(int *y) {
    int i = threadIdx.x;
    Reduction f = i % 2 ? total : largest;
    y[i] = f(3, i, i + 1, i + 2);
}

__device__ Reduction table[3] = {total, largest, count};

// kernel of_a_table grid 1 block 30
// out y int32 = [[2 * i + 7, max(i, 7), 3][i % 3] + (0, -1000, 0)[i % 3] for i in range(30)]
extern "C" __global__ void of_a_table(int *y) {
    int i = threadIdx.x;
    y[i] = table[i % 3](3, i, 7, i) + table[i % 3](0);
}

struct Shape {
    int side;
    __device__ virtual int size(int n, ...) { return n; }
};
struct Box : Shape {
    __device__ int size(int n, ...) override {
        va_list values;
        va_start(values, n);
        int product = side;
        for (int k = 0; k < n; ++k) product *= va_arg(values, int);
        va_end(values);
        return product;
    }
};

// kernel overridden grid 1 block 32
// out y int32 = [2 if i % 3 else i * (i + 1) * 5 for i in range(32)]
extern "C" __global__ void overridden(int *y) {
    int i = threadIdx.x;
    Shape shape;
    Box box;
    box.side = i;
    Shape *s = i % 3 ? &shape : &box;
    y[i] = s->size(2, i + 1, 5);
}

__device__ __noinline__ double mixed(const char *kinds, ...) {
    va_list values;
    va_start(values, kinds);
    double sum = 0;
    for (; *kinds; ++kinds) {
        if (*kinds == 'i') sum += va_arg(values, int);
        if (*kinds == 'd') sum += va_arg(values, double);
        if (*kinds == 'l') sum += va_arg(values, long long);
        if (*kinds == 'p') sum += *va_arg(values, double *);
    }
    va_end(values);
    return sum;
}
__device__ __noinline__ double nothing(const char *, ...) { return -1; }

// kernel of_all_kinds grid 1 block 32
// out y float64 = [4 * i + 3.75 if i < 16 else -1.0 for i in range(32)]
extern "C" __global__ void of_all_kinds(double *y) {
    int i = threadIdx.x;
    double half = 0.5;
    double (*f)(const char *, ...) = i < 16 ? mixed : nothing;
    y[i] = f("idlip", i, i + 0.25, (long long)i, i + 3, &half);
}

__device__ __noinline__ int summed(int n, va_list values) {
    return n ? va_arg(values, int) + summed(n - 1, values) : 0;
}
__device__ __noinline__ int handed_on(int n, ...) {
    va_list values;
    va_start(values, n);
    int sum = summed(n, values);
    va_end(values);
    return sum;
}

// kernel with_a_list grid 1 block 32
// out y int32 = [10 + i if i & 4 else 4 for i in range(32)]
extern "C" __global__ void with_a_list(int *y) {
    int i = threadIdx.x;
    Reduction f = i & 4 ? handed_on : count;
    y[i] = f(4, 1, 2, i, 7);
}

__device__ __noinline__ int nested(Reduction inner, int depth, ...) {
    va_list values;
    va_start(values, depth);
    int first = va_arg(values, int), second = va_arg(values, int);
    va_end(values);
    return depth ? inner(2, first, nested(inner, depth - 1, second, first + 1)) : first;
}

// kernel within_another grid 1 block 32
// out y int32 = [[3 * i + 4, i + 2][i % 2] for i in range(32)]
extern "C" __global__ void within_another(int *y) {
    int i = threadIdx.x;
    y[i] = nested(i % 2 ? largest : total, 2, i, i + 2) + (i % 2 ? 0 : 1);
}
