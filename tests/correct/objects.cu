// C++ in kernels: virtual functions, the heap, local arrays, several dynamic arrays.

#include <cstdio>
#include <cassert>
#include <new>
#include <cuda/std/array>
#include <cuda/std/tuple>
// kernel virtuals grid 1 block 64
// out y int32 = [i * i if i % 2 else 3 * i for i in range(64)]
struct Shape { __device__ virtual int area(int) const = 0; __device__ virtual ~Shape() {} };
struct Sq : Shape { __device__ int area(int x) const override { return x * x; } };
struct Tri : Shape { __device__ int area(int x) const override { return 3 * x; } };
extern "C" __global__ void virtuals(int *y) {
  Shape *s = threadIdx.x % 2 ? (Shape *)new Sq : (Shape *)new Tri;
  y[threadIdx.x] = s->area(threadIdx.x);
  delete s;
}
// kernel fptr grid 1 block 32
// out y int32 = [i + 1 if i % 3 == 0 else i * 2 if i % 3 == 1 else -i for i in range(32)]
__device__ int inc(int x) { return x + 1; }
__device__ int dbl(int x) { return x * 2; }
__device__ int neg(int x) { return -x; }
__constant__ int (*table[3])(int) = {inc, dbl, neg};
extern "C" __global__ void fptr(int *y) { y[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x); }
// kernel ackermann grid 1 block 8
// out y int32 = [2 * i + 3 for i in range(8)]
__device__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
extern "C" __global__ void ackermann(int *y) { y[threadIdx.x] = ack(2, threadIdx.x); }
// kernel stack_array grid 1 block 32
// value n int32 = 20
// out y int32 = [190 + 20 * i for i in range(32)]
extern "C" __global__ void stack_array(int n, int *y) {
  int a[64];
  for (int i = 0; i < n; ++i) a[i] = i + threadIdx.x;
  int s = 0;
  for (int i = 0; i < n; ++i) s += a[(i * 7) % n];
  y[threadIdx.x] = s;
}
// kernel stack_array_short grid 1 block 32
// value n int32 = 20
// out y int32 = np.zeros(32)
extern "C" __global__ void stack_array_short(int n, int *y) {
  int a[64];
  for (int i = 1; i < n; ++i) a[i] = i + threadIdx.x;
  int s = 0;
  for (int i = 0; i < n; ++i) s += a[(i * 7) % n];  // <- uninitialized-read
  y[threadIdx.x] = s;  // <- uninitialized-read
}
// kernel stack_overrun grid 1 block 32
// value n int32 = 65
// out y int32 = np.zeros(32)
extern "C" __global__ void stack_overrun(int n, int *y) {
  int a[64];
  for (int i = 0; i < n; ++i) a[i] = i + threadIdx.x;  // <- invalid-access
  y[threadIdx.x] = a[n / 2];
}
// kernel lambdas grid 2 block 32
// in x int32 = np.arange(64)
// out y int32 = x * 3 + 1
template <class F> __device__ void each(int n, F f) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i); }
extern "C" __global__ void lambdas(const int *x, int *y) { int k = 3; each(64, [=](int i) { y[i] = k * x[i] + 1; }); }
// kernel tuple_array grid 1 block 32
// out y int32 = np.arange(32) * 2 + 7
extern "C" __global__ void tuple_array(int *y) {
  cuda::std::array<int, 4> a{1, 2, 3, 4};
  auto [p, q] = cuda::std::make_tuple(int(threadIdx.x), 2);
  y[threadIdx.x] = p * q + a[2] + a[3];
}
// kernel prints grid 1 block 2
// out y int32 = [0, 1]
// prints t=0 x=0.50 s=abc %\nt=1 x=1.50 s=abc %\n
extern "C" __global__ void prints(int *y) { printf("t=%d x=%.2f s=%s %%\n", threadIdx.x, threadIdx.x + 0.5, "abc"); y[threadIdx.x] = threadIdx.x; }
// kernel asserts grid 1 block 32
// in x int32 = np.arange(32)
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void asserts(const int *x, int *y) { assert(x[threadIdx.x] < 31);  // <- launch-failure
  y[threadIdx.x] = 1; }
// kernel dyn_arrays grid 1 block 32 shared 640
// out y float64 = np.arange(32) * 3.0
extern "C" __global__ void dyn_arrays(double *y) {
  extern __shared__ __align__(16) unsigned char raw[];
  double *d = (double *)raw; float *f = (float *)(d + 32); int *k = (int *)(f + 32); char *c = (char *)(k + 32);
  int t = threadIdx.x;
  d[t] = t; f[t] = t; k[t] = t;
  __syncthreads();
  y[t] = d[31 - t] + f[31 - t] + k[31 - t] - 3.0 * (31 - t) + 3.0 * t;
  (void)c;
}
// kernel dyn_arrays_overlap grid 1 block 32 shared 640
// out y float64 = np.zeros(32)
extern "C" __global__ void dyn_arrays_overlap(double *y) {
  extern __shared__ __align__(16) unsigned char raw[];
  double *d = (double *)raw; float *f = (float *)(raw + 32 * sizeof(float));
  int t = threadIdx.x;
  d[t] = t;  // <- race
  f[t] = t;  // <- race
  __syncthreads();
  y[t] = d[31 - t] + f[31 - t];
}
// kernel list_heap grid 1 block 32
// out y int32 = [sum(range(i + 1)) for i in range(32)]
struct Cell { int v; Cell *next; };
extern "C" __global__ void list_heap(int *y) {
  Cell *head = nullptr;
  for (int i = 0; i <= int(threadIdx.x); ++i) head = new Cell{i, head};
  int s = 0;
  while (head) { s += head->v; Cell *n = head->next; delete head; head = n; }
  y[threadIdx.x] = s;
}
// kernel list_heap_use_after grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void list_heap_use_after(int *y) {
  Cell *head = nullptr;
  for (int i = 0; i <= int(threadIdx.x); ++i) head = new Cell{i, head};
  int s = 0;
  while (head) { s += head->v; delete head; head = head->next; }  // <- invalid-access
  y[threadIdx.x] = s;
}
// kernel member_uninit grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void member_uninit(int *y) {
  Cell *c = new Cell;
  c->v = threadIdx.x;
  y[threadIdx.x] = c->v + (c->next != nullptr);  // <- uninitialized-read
  delete c;
}
// kernel optional_path grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = [int(v) if v > 10 else -1 for v in x]
__device__ bool lookup(const int *x, int i, int *out) { if (x[i] > 10) { *out = x[i]; return true; } return false; }
extern "C" __global__ void optional_path(const int *x, int *y) { int v; y[threadIdx.x] = lookup(x, threadIdx.x, &v) ? v : -1; }
// kernel optional_path_ignored grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32)
extern "C" __global__ void optional_path_ignored(const int *x, int *y) { int v; lookup(x, threadIdx.x, &v); y[threadIdx.x] = v; }  // <- uninitialized-read
// kernel member_functions grid 1 block 32
// out y int32 = [i + 3 if i % 2 else i * 3 for i in range(32)]
struct Ops { int k; __device__ int add(int a) const { return a + k; } __device__ int mul(int a) const { return a * k; } };
extern "C" __global__ void member_functions(int *y) {
  int (Ops::*f)(int) const = threadIdx.x % 2 ? &Ops::add : &Ops::mul;
  Ops o{3};
  y[threadIdx.x] = (o.*f)(threadIdx.x);
}
// kernel member_table grid 1 block 32
// out y int32 = [i + 5 for i in range(32)]
__device__ int (Ops::*const members[2])(int) const = {&Ops::mul, &Ops::add};
extern "C" __global__ void member_table(int *y) { Ops o{5}; y[threadIdx.x] = (o.*members[1])(threadIdx.x); }
// kernel virtual_member grid 1 block 32
// out y int32 = [3 * i for i in range(32)]
extern "C" __global__ void virtual_member(int *y) {
  int (Shape::*f)(int) const = &Shape::area;
  Tri t;
  Shape *s = &t;
  y[threadIdx.x] = (s->*f)(threadIdx.x);
}
// kernel aligned_functions grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void aligned_functions(int *y) { y[threadIdx.x] = (unsigned long long)table[threadIdx.x % 3] & 7; }

// kernel bits_of_the_next_byte grid 1 block 32
// out y int32 = np.zeros(32)
// finds uninitialized-read error `f.c` is used
struct Fields { unsigned a : 3, b : 5, c : 12; int d; };
extern "C" __global__ void bits_of_the_next_byte(int *y) {
  Fields f;
  f.a = 1;
  f.b = 2;
  f.d = 3;
  Fields *p = &f;
  y[threadIdx.x] = p->c;
}

// kernel bits_of_one_byte grid 1 block 32
// out y int32 = np.zeros(32)
// finds uninitialized-read error `f.a or .b` is used
extern "C" __global__ void bits_of_one_byte(int *y) {
  Fields f;
  f.b = 2;
  f.c = 4;
  Fields *p = &f;
  y[threadIdx.x] = p->a;
}
