// Device functions: calls, recursion, pointers, virtual functions, templates, lambdas.

// kernel plain grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = x * x + 3 + x
__noinline__ __device__ int square(int v) { return v * v; }
__noinline__ __device__ int twice(int v) { int kept[4]; for (int k = 0; k < 4; k++) kept[k] = v + k; return square(kept[v & 3] - (v & 3)) + kept[3] + 0; }
extern "C" __global__ void plain(const int *x, int *y) {
  int own[4] = {1, 2, 3, x[threadIdx.x]};
  int r = twice(own[3]);
  y[threadIdx.x] = own[0] + own[1] == 3 ? r : -1;
}

// kernel recursion grid 1 block 20
// out y int64 = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597, 2584, 4181, 6765]
__noinline__ __device__ long long fibonacci(int n) { return n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(long long *y) { y[threadIdx.x] = fibonacci(threadIdx.x); }

// kernel deep grid 1 block 32
// value n int32 = 150
// out y int32 = np.arange(32) * 0 + 150 * 151 // 2
__noinline__ __device__ int sum_to(int n) { volatile int kept[2] = {n, n}; return n == 0 ? 0 : sum_to(n - 1) + kept[n & 1]; }
extern "C" __global__ void deep(int n, int *y) { y[threadIdx.x] = sum_to(n); }

// kernel endless grid 1 block 32
// out y int32 = [0]
// finds invalid-access error stack overflow
__noinline__ __device__ int endless_sum(int n) { return n == -1 ? 0 : endless_sum(n + 1) * 3 + n; }
extern "C" __global__ void endless(int *y) { y[0] = endless_sum(threadIdx.x); }

// kernel pointers grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.where(x % 3 == 0, x + 1, np.where(x % 3 == 1, x * 2, x - 5))
typedef int (*Operation)(int);
__device__ int add1(int v) { return v + 1; }
__device__ int mul2(int v) { return v * 2; }
__device__ int sub5(int v) { return v - 5; }
__device__ Operation operations[3] = {add1, mul2, sub5};
extern "C" __global__ void pointers(const int *x, int *y) {
  y[threadIdx.x] = operations[x[threadIdx.x] % 3](x[threadIdx.x]);
}

// kernel virtuals grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = np.where(np.arange(32) % 2 == 0, x * x, 2 * x + 1)
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float a; __device__ Square(float v) : a(v) {} __device__ float area() const override { return a * a; } };
struct Strip : Shape { float a; __device__ Strip(float v) : a(v) {} __device__ float area() const override { return 2 * a + 1; } };
__noinline__ __device__ float area_of(const Shape *s) { return s->area(); }
extern "C" __global__ void virtuals(const float *x, float *y) {
  Square a(x[threadIdx.x]);
  Strip b(x[threadIdx.x]);
  y[threadIdx.x] = area_of(threadIdx.x % 2 ? (const Shape *)&b : &a);
}

// kernel templates grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = x * 3 + 8
template <int N, class T> __device__ T power_of_two() { return N == 0 ? T(1) : T(2) * power_of_two<N == 0 ? 0 : N - 1, T>(); }
template <class F> __device__ float apply(F f, float v) { return f(v); }
extern "C" __global__ void templates(const float *x, float *y) {
  float by = 3;
  auto scale = [=](float v) { return by * v; };
  y[threadIdx.x] = apply(scale, x[threadIdx.x]) + power_of_two<3, float>();
}

// kernel by_value grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = (x + 1) * 2 + (x + 2) * 3
struct Pair { float a, b; char tag; double c; };
__noinline__ __device__ Pair made(float v) { Pair p; p.a = v + 1; p.b = v + 2; p.tag = 'x'; p.c = 3; return p; }
__noinline__ __device__ float used(Pair p, float4 q) { return p.a * q.x + p.b * (float)p.c + (p.tag - 'x') + q.w; }
extern "C" __global__ void by_value(const float *x, float *y) {
  y[threadIdx.x] = used(made(x[threadIdx.x]), make_float4(2, 0, 0, 0));
}

// kernel switches grid 1 block 32
// in x int32 = np.arange(32) % 12
// out y int32 = np.array([7, 1, 4, 9, -3, 25, 60, 70, 8, 99, 5, 5])[x]
extern "C" __global__ void switches(const int *x, int *y) {
  int v = x[threadIdx.x], r;
  switch (v) {
    case 0: r = 7; break;
    case 1: r = v * v; break;
    case 2: r = v << 1; break;
    case 3: r = v * 3; break;
    case 4: r = 1 - v; break;
    case 5: r = v * 5; break;
    case 6: r = v * 10; break;
    case 7: r = v * 10; break;
    case 8: r = v; break;
    case 9: r = 99; break;
    default: r = 5;
  }
  y[threadIdx.x] = r;
}

// kernel divergent_calls grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = [int(v) ** (int(v) % 3) for v in x]
__noinline__ __device__ int raised(int v, int n) { if (n == 0) return 1; int r = v; while (--n) r *= v; return r; }
extern "C" __global__ void divergent_calls(const int *x, int *y) {
  int v = x[threadIdx.x];
  if (v % 3 == 0) y[threadIdx.x] = raised(v, 0);
  else if (v % 3 == 1) y[threadIdx.x] = raised(v, 1);
  else y[threadIdx.x] = raised(v, 2);
}
