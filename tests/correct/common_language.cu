// The language and the mathematical functions as programs use them.
#include <cstdio>
#include <cassert>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
#include <math_constants.h>
// kernel shapes grid 1 block 32
// out y float32 = [np.float32(i) * i if i % 2 == 0 else np.float32(3) * i for i in range(32)]
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float a; __device__ Square(float v) : a(v) {} __device__ float area() const override { return a * a; } };
struct Strip : Shape { float a; __device__ Strip(float v) : a(v) {} __device__ float area() const override { return 3 * a; } };
extern "C" __global__ void shapes(float *y) {
  int i = threadIdx.x; Shape *s = i % 2 ? (Shape *)new Strip(i) : (Shape *)new Square(i); y[i] = s->area(); delete s;
}
// kernel pointers grid 1 block 32
// out y int32 = [[i + 10, i - 10, i * 10][i % 3] for i in range(32)]
typedef int (*Op)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ Op ops[3] = {add, sub, mul};
extern "C" __global__ void pointers(int *y) { int i = threadIdx.x; y[i] = ops[i % 3](i, 10); }
// kernel recurse grid 1 block 16
// out y int32 = [[0,1,1,2,3,5,8,13,21,34,55,89,144,233,377,610][i] for i in range(16)]
// out a int32 = [2 * (i % 4) + 3 for i in range(16)]
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
extern "C" __global__ void recurse(int *y, int *a) { y[threadIdx.x] = fib(threadIdx.x); a[threadIdx.x] = ack(2, threadIdx.x % 4); }
// kernel tables grid 1 block 32
// out y int32 = [sum(k * k for k in range(i)) for i in range(32)]
template <int N> struct Table { int v[N]; constexpr Table() : v() { for (int i = 1; i < N; i++) v[i] = v[i - 1] + (i - 1) * (i - 1); } };
__constant__ constexpr Table<32> squares;
extern "C" __global__ void tables(int *y) { y[threadIdx.x] = squares.v[threadIdx.x]; }
// kernel params grid 1 block 32
// value p float32 = 2.5
// out y float32 = np.arange(32) * 2.5 + 3
struct Config { float scale; int shift; float more[3]; };
__constant__ Config config = {1.0f, 1, {0, 2, 0}};
extern "C" __global__ void params(const __grid_constant__ float p, float *y) { y[threadIdx.x] = threadIdx.x * p * config.scale + config.more[config.shift] + config.shift; }
// kernel sized grid 1 block 64
// in x float32 = rng.integers(0, 99, 64)
// out y float32 = np.concatenate([x[:32][::-1], x[32:][::-1]])
template <typename T, int N> __device__ T reversed(T v) { __shared__ T s[N][2]; int w = threadIdx.x / N, l = threadIdx.x % N; s[l][w] = v; __syncthreads(); return s[N - 1 - l][w]; }
extern "C" __global__ void __launch_bounds__(64, 4) sized(const float *x, float *y) { y[threadIdx.x] = reversed<float, 32>(x[threadIdx.x]); }
// kernel halves grid 1 block 32
// in x float16 = rng.standard_normal(64)
// out y float16 = (x.reshape(32, 2).astype(np.float64) * 2 + 1).astype(np.float16)
// out m float16 = np.maximum(x.reshape(32, 2)[:, 0], x.reshape(32, 2)[:, 1])
// out s float32 = x.reshape(32, 2).astype(np.float32).sum(1)
extern "C" __global__ void halves(const half2 *x, half2 *y, half *m, float *s) {
  int t = threadIdx.x; half2 v = x[t]; y[t] = __hfma2(v, __float2half2_rn(2.f), __half2half2(__float2half(1.f)));
  m[t] = __hmax(__low2half(v), __high2half(v)); float2 f = __half22float2(v); s[t] = f.x + f.y;
}
// kernel brains grid 1 block 32
// in x float32 = rng.integers(-100, 100, 64)
// out y float32 = x * 2
// out c int32 = (x.reshape(32, 2) > 3).all(1)
extern "C" __global__ void brains(const float2 *x, float2 *y, int *c) {
  int t = threadIdx.x; __nv_bfloat162 v = __float22bfloat162_rn(x[t]); v = __hadd2(v, v); y[t] = __bfloat1622float2(v); c[t] = __hbgt2(v, __float2bfloat162_rn(6.f));
}
// kernel eights grid 1 block 32
// in x float32 = np.array([0.5, 1.75, -3, 448, 500, -0.001953125, 16, 0.015625] * 4)
// out y float32 = np.array([0.5, 1.75, -3, 448, 448, -0.001953125, 16, 0.015625] * 4)
// out z float32 = np.array([0.5, 1.75, -3, 448, 512, -0.001953125, 16, 0.015625] * 4)
extern "C" __global__ void eights(const float *x, float *y, float *z) { int t = threadIdx.x; y[t] = float(__nv_fp8_e4m3(x[t])); z[t] = float(__nv_fp8_e5m2(x[t])); }
// kernel sixes grid 1 block 32
// in x float32 = np.array([0.5, 1.75, -3, 7, 9, -0.125, 1.1, 0.0625] * 4)
// out y float32 = np.array([0.5, 1.75, -3, 7, 7.5, -0.125, 1.125, 0] * 4)
// out z float32 = np.array([0.5, 2, -3, 6, 6, 0, 1, 0] * 4)
extern "C" __global__ void sixes(const float *x, float *y, float *z) { int t = threadIdx.x; y[t] = float(__nv_fp6_e2m3(x[t])); z[t] = float(__nv_fp4_e2m1(x[t])); if (z[t] == 0) z[t] = 0.f; if (y[t] == 0) y[t] = 0; }
// kernel mathf grid 1 block 32 tol 1e-6
// in x float32 = rng.random(32) * 4 + 0.1
// out a float32 = np.sqrt(x)
// out b float32 = np.exp(x)
// out c float32 = np.log1p(x)
// out d float32 = np.arctan2(x, 2)
// out e float32 = np.hypot(x, 3)
// out f float32 = np.cbrt(x)
// out g float32 = x**np.float32(1.7)
// out h float32 = np.fmod(x, np.float32(0.7))
extern "C" __global__ void mathf(const float *x, float *a, float *b, float *c, float *d, float *e, float *f, float *g, float *h) {
  int t = threadIdx.x; float v = x[t]; a[t] = sqrtf(v); b[t] = expf(v); c[t] = log1pf(v); d[t] = atan2f(v, 2); e[t] = hypotf(v, 3); f[t] = cbrtf(v); g[t] = powf(v, 1.7f); h[t] = fmodf(v, 0.7f);
}
// kernel edges grid 1 block 32
// out y float32 = np.resize([np.inf, np.nan, 0, 1, np.inf, -np.inf, 0, np.nan, 1, 3, -0.0, 2], 32)
extern "C" __global__ void edges(float *y) {
  float z = threadIdx.x * 0.f; float v[12] = {expf(1000 + z), sqrtf(-1 + z), expf(-1000 + z), powf(0, z), 1 / z, logf(z), fminf(CUDART_NAN_F, z), fmodf(1, z), powf(CUDART_NAN_F, z), roundf(2.5f + z), rintf(-0.3f + z), ceilf(1.2f + z)};
  y[threadIdx.x] = v[threadIdx.x % 12];
}
// kernel mathd grid 1 block 32 tol 1e-13
// in x float64 = rng.random(32) * 3
// out a float64 = np.sin(x) + np.cos(x)
// out b float64 = np.vectorize(__import__('math').erf)(x)
// out c float64 = np.vectorize(__import__('math').lgamma)(x)
// out d float64 = np.exp2(x)
extern "C" __global__ void mathd(const double *x, double *a, double *b, double *c, double *d) { int t = threadIdx.x; double s, k; sincos(x[t], &s, &k); a[t] = s + k; b[t] = erf(x[t]); c[t] = lgamma(x[t]); d[t] = exp2(x[t]); }
// kernel fast grid 1 block 32 tol 1e-5
// in x float32 = rng.random(32) + 0.5
// out y float32 = np.sin(x) + np.exp(x) + np.log(x) + 1 / x + x**2
extern "C" __global__ void fast(const float *x, float *y) { int t = threadIdx.x; float v = x[t]; y[t] = __sinf(v) + __expf(v) + __logf(v) + __fdividef(1, v) + __powf(v, 2); }
// kernel heap grid 1 block 32
// out y int32 = [sum(range(i + 1)) for i in range(32)]
extern "C" __global__ void heap(int *y) { int n = threadIdx.x + 1; int *p = (int *)malloc(n * sizeof(int)); assert(p); for (int i = 0; i < n; i++) p[i] = i; int s = 0; for (int i = 0; i < n; i++) s += p[i]; free(p); y[threadIdx.x] = s; }
// kernel prints grid 1 block 1
// out y int32 = [1]
// prints 3 2.50 abc -7 0x1f
extern "C" __global__ void prints(int *y) { printf("%d %.2f %s %lld 0x%x", 3, 2.5f, "abc", -7LL, 31); y[0] = 1; }
// kernel lambdas grid 1 block 32
// out y int32 = [i * 3 + i * 4 for i in range(32)]
template <typename F> __device__ int twice(F f, int v) { return f(v) + f(v); }
extern "C" __global__ void lambdas(int *y) { int k = 3; auto f = [=](auto v) { return v * k; }; int c = threadIdx.x; auto g = [&]() mutable { return c * 4; }; y[threadIdx.x] = twice(f, c) / 2 + g(); }
// kernel fold grid 1 block 32
// out y int32 = [1 + 2 + 3 + i for i in range(32)]
template <typename... T> __device__ auto total(T... v) { return (v + ...); }

template <typename T> __device__ T same(T v) { if constexpr (sizeof(T) == 4) return v; else return 0; }
extern "C" __global__ void fold(int *y) { y[threadIdx.x] = same(total(1, 2, 3, (int)threadIdx.x)); }
// kernel unions grid 1 block 32
// in x float32 = rng.random(32)
// out y uint8 = x.view(np.uint8)
struct Bits { unsigned low : 8, mid : 16, high : 8; };
extern "C" __global__ void unions(const float *x, uchar4 *y) { union { float f; Bits b; } u; u.f = x[threadIdx.x]; y[threadIdx.x] = make_uchar4(u.b.low, u.b.mid & 255, u.b.mid >> 8, u.b.high); }
// kernel switches grid 1 block 32
// out y int32 = [[5, 7, 7 + 9, 9, 1, 0, 2, 4][i % 8] for i in range(32)]
extern "C" __global__ void switches(int *y) { int r = 0; switch (threadIdx.x % 8) { case 0: r = 5; break; case 2: r = 9; [[fallthrough]]; case 1: r += 7; break; case 3: r = 9; break; case 4: r = 1; break; case 5: goto done; case 6: r = 2; break; default: r = 4; } done: y[threadIdx.x] = r; }
// kernel dyn grid 2 block 32 shared 256
// in x int32 = np.arange(64)
// out y int32 = np.arange(64).reshape(2, 32)[:, ::-1].ravel() * 2
extern "C" __global__ void dyn(const int *x, int *y) { extern __shared__ char raw[]; int *s = reinterpret_cast<int *>(raw); float *f = reinterpret_cast<float *>(s + 32); int t = threadIdx.x; s[t] = x[blockIdx.x * 32 + t]; f[t] = 2; __syncthreads(); y[blockIdx.x * 32 + t] = s[31 - t] * (int)f[31 - t]; }
// kernel last_block grid 8 block 64
// in x int32 = np.arange(512)
// inout part int32 = np.zeros(8) -> np.arange(512).reshape(8, 64).sum(1)
// out y int32 = [512 * 511 // 2]
__device__ unsigned arrived = 0;
extern "C" __global__ void last_block(const int *x, volatile int *part, int *y) {
  __shared__ bool last; int v = x[blockIdx.x * 64 + threadIdx.x];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  __shared__ int w[2]; if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v; __syncthreads();
  if (threadIdx.x == 0) { part[blockIdx.x] = w[0] + w[1]; __threadfence(); last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1; }
  __syncthreads();
  if (last && threadIdx.x == 0) { int s = 0; for (int i = 0; i < gridDim.x; i++) s += part[i]; *y = s; }
}
// kernel images grid 1 block 8,8
// texture t float32 address clamp filter point = np.arange(64).reshape(8, 8)
// surface s float32 = np.zeros((8, 8)) -> np.arange(64).reshape(8, 8).T
// out y float32 = np.arange(64).reshape(8, 8)[:, ::-1]
extern "C" __global__ void images(cudaTextureObject_t t, cudaSurfaceObject_t s, float *y) {
  int i = threadIdx.x, j = threadIdx.y; y[j * 8 + i] = tex2D<float>(t, 7 - i + 0.5f, j + 0.5f); surf2Dwrite(tex2D<float>(t, j, i), s, i * 4, j);
}
// kernel lock grid 4 block 1
// inout c int32 = [0, 0] -> [0, 40]
extern "C" __global__ void lock(int *c) {
  for (int k = 0; k < 10; k++) { while (atomicCAS(c, 0, 1)) __nanosleep(10); __threadfence(); ((volatile int *)c)[1] += 1; __threadfence(); atomicExch(c, 0); }
}
// kernel doubles_atomic grid 2 block 64
// inout s float64 = [0] -> [127 * 64]
// inout h float16 = [0, 0] -> [128, 256]
extern "C" __global__ void doubles_atomic(double *s, half2 *h) { atomicAdd(s, (double)(blockIdx.x * 64 + threadIdx.x)); atomicAdd(h, __floats2half2_rn(1, 2)); }

// Wrong: nothing waits for the values. A function of the library for large angles has a copy for each call.
// kernel angles_of_another_block grid 2 block 32
// inout data float64 = np.zeros(2) -> _
// inout out float64 = [0] -> _
extern "C" __global__ void angles_of_another_block(volatile double *data, double *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 1;  // <- race
    data[1] = 2;  // <- race
    return;
  }
  out[0] = sin(data[0] * 3) + cos(data[1]);  // <- race
}
