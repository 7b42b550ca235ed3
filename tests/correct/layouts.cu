// Bytes of structs, unions and pools, objects in the heap, and functions behind pointers.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <cassert>
#include <cstdio>
#include <cuda/std/array>
#include <cuda/std/tuple>

struct Flags { unsigned a : 3; unsigned b : 5; unsigned c : 1; signed d : 9; };

// Wrong: two threads set different fields of one word.
// kernel fields_shared grid 1 block 64
// out y int32 = np.zeros(32)
extern "C" __global__ void fields_shared(int *y) {
  __shared__ Flags f[32];
  int t = threadIdx.x;
  if (t < 32) f[t] = Flags{0, 0, 0, 0};
  __syncthreads();
  if (t < 32) f[t].a = t % 8;  // <- race
  else f[t - 32].d = t;  // <- race
  __syncthreads();
  if (t < 32) y[t] = f[t].a + f[t].d;
}

// Neighboring bytes and halves of one word by different threads: no race.
struct Mixed { unsigned char r, g, b, a; };

// kernel channels grid 1 block 128
// out y uint8 = [[t, t + 1, t + 2, t + 3] for t in range(32)]
extern "C" __global__ void channels(unsigned char *y) {
  __shared__ Mixed px[32];
  int t = threadIdx.x, p = t / 4;
  unsigned char *c = reinterpret_cast<unsigned char *>(&px[p]);
  c[t % 4] = p + t % 4;
  __syncthreads();
  Mixed m = px[31 - p];
  unsigned char v = t % 4 == 0 ? m.r : t % 4 == 1 ? m.g : t % 4 == 2 ? m.b : m.a;
  y[(31 - p) * 4 + t % 4] = v;
}

// Padding: struct with holes copied by assignment through shared memory.
struct Hole { char c; double d; short s; };

// kernel holes grid 1 block 32
// out y float64 = np.arange(32) * 3.0
extern "C" __global__ void holes(double *y) {
  __shared__ Hole h[32];
  __shared__ Hole k[32];
  int t = threadIdx.x;
  h[t].c = t; h[t].d = t; h[t].s = t;
  __syncthreads();
  k[t] = h[31 - t];
  __syncthreads();
  Hole z = k[31 - t];
  y[t] = z.c + z.d + z.s;
}

// Used bytes: xyz of a float4, w is written by another thread.
// kernel xyz grid 1 block 64
// out y float32 = 3.0 * np.arange(32) + 3
extern "C" __global__ void xyz(float *y) {
  __shared__ float4 p[32];
  int t = threadIdx.x;
  if (t < 32) { p[t].x = t; p[t].y = t + 1; p[t].z = t + 2; }
  __syncthreads();
  if (t < 32) { float4 q = p[t]; y[t] = q.x + q.y + q.z; }
  else p[t - 32].w = 1;
}

// Wrong: reads w too.
// kernel xyzw grid 1 block 64
// out y float32 = 3.0 * np.arange(32) + 3
extern "C" __global__ void xyzw(float *y) {
  __shared__ float4 p[32];
  int t = threadIdx.x;
  if (t < 32) p[t] = make_float4(t, t + 1, t + 2, 0);
  __syncthreads();
  if (t < 32) { float4 q = p[t]; y[t] = q.x + q.y + q.z + q.w; }  // <- race
  else p[t - 32].w = 1;  // <- race
}

// Tagged union.
struct Tagged { int tag; union { int i; float f; double d; }; };

// kernel tagged grid 1 block 48
// out y float64 = [k if k % 3 == 0 else k * 0.5 if k % 3 == 1 else k * 0.25 for k in range(48)]
extern "C" __global__ void tagged(double *y) {
  __shared__ Tagged v[48];
  int t = threadIdx.x;
  v[t].tag = t % 3;
  if (t % 3 == 0) v[t].i = t; else if (t % 3 == 1) v[t].f = t * 0.5f; else v[t].d = t * 0.25;
  __syncthreads();
  Tagged w = v[47 - t];
  y[47 - t] = w.tag == 0 ? w.i : w.tag == 1 ? w.f : w.d;
}

// Wrong: half a double is read.
// kernel tagged_half grid 1 block 48
// out y float64 = np.zeros(48)
extern "C" __global__ void tagged_half(double *y) {
  __shared__ Tagged v[48];
  int t = threadIdx.x;
  v[t].tag = t % 3;
  if (t % 3 == 0) v[t].i = t; else if (t % 3 == 1) v[t].f = t * 0.5f; else v[t].d = t * 0.25;
  __syncthreads();
  const Tagged &w = v[47 - t];
  y[47 - t] = w.tag == 0 ? w.i : w.d;  // <- uninitialized-read
}

// Dynamic shared memory cut into arrays of mixed types with alignment.
template <class T> __device__ T *carve(unsigned char *&p, int n) {
  auto a = (reinterpret_cast<unsigned long long>(p) + alignof(T) - 1) & ~(unsigned long long)(alignof(T) - 1);
  p = reinterpret_cast<unsigned char *>(a) + n * sizeof(T);
  return reinterpret_cast<T *>(a);
}

extern __shared__ __align__(16) unsigned char pool[];

// kernel carved grid 2 block 37 shared 700
// out y float64 = [37.0 * 3] * 74
extern "C" __global__ void carved(double *y) {
  unsigned char *p = pool;
  int t = threadIdx.x;
  char *c = carve<char>(p, 37);
  double *d = carve<double>(p, 37);
  short *s = carve<short>(p, 37);
  float *f = carve<float>(p, 37);
  c[t] = 1; d[t] = t; s[t] = 36 - t; f[t] = 1.f * c[t];
  __syncthreads();
  int u = (t + 5) % 37;
  y[blockIdx.x * 37 + t] = d[u] + s[u] + f[u] + c[u] + 73;
}

// Wrong: the pool is some bytes too small.
// kernel carved_small grid 2 block 37 shared 550
// out y float64 = np.zeros(74)
extern "C" __global__ void carved_small(double *y) {
  unsigned char *p = pool;
  int t = threadIdx.x;
  char *c = carve<char>(p, 37);
  double *d = carve<double>(p, 37);
  short *s = carve<short>(p, 37);
  float *f = carve<float>(p, 37);
  c[t] = 1; d[t] = t; s[t] = 36 - t; f[t] = 1.f * c[t];  // <- invalid-access
  __syncthreads();
  int u = (t + 5) % 37;
  y[blockIdx.x * 37 + t] = d[u] + s[u] + f[u] + c[u] + 73;  // <- invalid-access
}

// Wrong: sizes in elements, arrays overlap.
// kernel carved_overlap grid 1 block 32 shared 1024
// out y float32 = np.arange(32)
extern "C" __global__ void carved_overlap(float *y) {
  float *a = reinterpret_cast<float *>(pool);
  int *b = reinterpret_cast<int *>(pool + 32);
  int t = threadIdx.x;
  a[t] = t;  // <- race
  b[t] = t;  // <- race
  __syncthreads();
  y[t] = a[t] + b[t];
}

// Wrong: only the low half is written.
// kernel low_only grid 1 block 32
// out y float16 = np.arange(64)
extern "C" __global__ void low_only(__half2 *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  y[t] = s[31 - t];  // <- uninitialized-read
}

// Small allocator in shared memory: bump by atomicAdd.
struct Arena { int used; alignas(8) unsigned char bytes[2048]; };

__device__ void *take(Arena &a, int n) { int at = atomicAdd(&a.used, (n + 7) & ~7); return at + n <= 2048 ? a.bytes + at : nullptr; }

// kernel arena grid 1 block 32
// out y int32 = [k * (k % 5 + 1) for k in range(32)]
extern "C" __global__ void arena(int *y) {
  __shared__ Arena a;
  int t = threadIdx.x, n = t % 5 + 1;
  if (t == 0) a.used = 0;
  __syncthreads();
  int *p = static_cast<int *>(take(a, n * sizeof(int)));
  for (int k = 0; k < n; ++k) p[k] = t;
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += p[k];
  y[t] = sum;
}

// Wrong: sizes in elements.
// kernel arena_small grid 1 block 32
// out y int32 = [k * (k % 5 + 1) for k in range(32)]
extern "C" __global__ void arena_small(int *y) {
  __shared__ Arena a;
  int t = threadIdx.x, n = t % 5 + 1;
  if (t == 0) a.used = 0;
  __syncthreads();
  int *p = static_cast<int *>(take(a, n));
  for (int k = 0; k < n; ++k) p[k] = t;  // <- race
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += p[k];  // <- race
  y[t] = sum;
}

// Linked list in the device heap, built under CAS, walked and freed by one thread after a barrier.
struct Node { int value; Node *next; };

// kernel list grid 1 block 64
// out y int32 = [2016]
extern "C" __global__ void list(int *y) {
  __shared__ Node *head;
  int t = threadIdx.x;
  if (t == 0) head = nullptr;
  __syncthreads();
  Node *n = static_cast<Node *>(malloc(sizeof(Node)));
  n->value = t;
  n->next = (Node *)atomicExch((unsigned long long *)&head, (unsigned long long)n);
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (Node *p = head; p;) { sum += p->value; Node *q = p->next; free(p); p = q; }
    y[0] = sum;
  }
}

// Wrong: walks after the free.
// kernel list_freed grid 1 block 64
// out y int32 = [2016]
extern "C" __global__ void list_freed(int *y) {
  __shared__ Node *head;
  int t = threadIdx.x;
  if (t == 0) head = nullptr;
  __syncthreads();
  Node *n = static_cast<Node *>(malloc(sizeof(Node)));
  n->value = t;
  n->next = (Node *)atomicExch((unsigned long long *)&head, (unsigned long long)n);
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (Node *p = head; p; p = p->next) { sum += p->value; free(p); }  // <- invalid-access
    y[0] = sum;
  }
}

// Virtual functions, and functions in a table.
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };

struct Square : Shape { float a; __device__ Square(float s) : a(s) {} __device__ float area() const override { return a * a; } };

struct Rect : Shape { float a, b; __device__ Rect(float s, float t) : a(s), b(t) {} __device__ float area() const override { return a * b; } };

// kernel shapes grid 1 block 32
// out y float32 = [k * k if k % 2 else k * 2 for k in range(32)]
extern "C" __global__ void shapes(float *y) {
  int t = threadIdx.x;
  Square s(t); Rect r(t, 2);
  const Shape *p = t % 2 ? static_cast<Shape *>(&s) : &r;
  y[t] = p->area();
}

// Objects made by new in the device heap, deleted by the same thread.
// kernel shapes_heap grid 1 block 32
// out y float32 = [k * k if k % 2 else k * 2 for k in range(32)]
extern "C" __global__ void shapes_heap(float *y) {
  int t = threadIdx.x;
  Shape *p = t % 2 ? static_cast<Shape *>(new Square(t)) : new Rect(t, 2);
  y[t] = p->area();
  delete p;
}

// Wrong: used after delete.
// kernel shapes_deleted grid 1 block 32
// out y float32 = np.zeros(32)
extern "C" __global__ void shapes_deleted(float *y) {
  int t = threadIdx.x;
  Rect *p = new Rect(t, 2);
  delete p;
  y[t] = p->a;  // <- invalid-access
}

__device__ int twice(int a) { return 2 * a; }

__device__ int thrice(int a) { return 3 * a; }

__device__ int minus(int a) { return -a; }

typedef int (*Op)(int);

__device__ Op ops[3] = {twice, thrice, minus};

// kernel table grid 1 block 30
// out y int32 = [k * [2, 3, -1][k % 3] for k in range(30)]
extern "C" __global__ void table(int *y) { y[threadIdx.x] = ops[threadIdx.x % 3](threadIdx.x); }

// Mixed sizes: bytes written, word read after the barrier.
// kernel word_of_bytes grid 1 block 64
// out y uint32 = [int.from_bytes([(4 * k + j) % 64 for j in range(4)], "little") for k in range(16)]
extern "C" __global__ void word_of_bytes(unsigned *y) {
  __shared__ alignas(4) unsigned char s[64];
  int t = threadIdx.x;
  s[63 - t] = 63 - t;
  __syncthreads();
  if (t < 16) y[t] = reinterpret_cast<unsigned *>(s)[t];
}

// Wrong: a word of which others write a byte.
// kernel word_of_bytes_race grid 1 block 64
// out y uint32 = np.zeros(16)
extern "C" __global__ void word_of_bytes_race(unsigned *y) {
  __shared__ alignas(4) unsigned char s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t < 16) y[t] = reinterpret_cast<unsigned *>(s)[t];  // <- race
  if (t >= 48) s[t] = 7;  // <- race
}

// Atomic on a byte by CAS of its word.
__device__ void or_byte(unsigned char *p, unsigned char v) {
  auto a = reinterpret_cast<unsigned long long>(p);
  unsigned *w = reinterpret_cast<unsigned *>(a & ~3ull);
  atomicOr(w, (unsigned)v << (a & 3) * 8);
}

// kernel bytes_or grid 1 block 128
// inout y uint8 = np.zeros(32) -> np.full(32, 15)
extern "C" __global__ void bytes_or(unsigned char *y) { or_byte(y + threadIdx.x % 32, 1 << threadIdx.x / 32); }

// Wrong: one of the bytes is written plainly.
// kernel bytes_or_plain grid 1 block 128
// inout y uint8 = np.zeros(32) -> _
extern "C" __global__ void bytes_or_plain(unsigned char *y) {
  if (threadIdx.x < 96) or_byte(y + threadIdx.x % 32, 1 << threadIdx.x / 32);  // <- race
  else y[threadIdx.x % 32] |= 8;  // <- race
}
