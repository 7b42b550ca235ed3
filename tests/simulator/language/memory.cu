// Variables of every space, cache operators, atomics of every kind, asynchronous copies.
#include <cuda_fp16.h>

// kernel globals grid 1 block 8
// global table float32 = np.arange(8) * 5
// global scale int32 = 3
// out y float32 = np.arange(8) * 15 + 2 + 40 + np.arange(8) % 4
__constant__ float table[8];
__device__ int scale = 1;
__device__ int left_alone = 2;
__constant__ int data[4] = {0, 1, 2, 3};
__device__ const int *pointer = data;
__device__ struct { int a; double b; int *p; } record = {7, 40.0, &left_alone};
extern "C" __global__ void globals(float *y) {
  int t = threadIdx.x;
  y[t] = table[t] * scale + *record.p + record.b + pointer[t % 4];
}

// kernel device_state grid 1 block 32
// out y int32 = np.arange(32) + 1
__device__ int state[32];
extern "C" __global__ void device_state(int *y) {
  state[threadIdx.x] += threadIdx.x + 1;
  y[threadIdx.x] = state[threadIdx.x];
}

// kernel dynamic grid 1 block 16 shared 192
// out y float64 = np.arange(16)[::-1] * 1.5 + np.arange(16)[::-1]
extern __shared__ char raw[];
extern "C" __global__ void dynamic(double *y) {
  double *d = (double *)raw;
  int *i = (int *)(raw + 128), t = threadIdx.x;
  d[t] = t * 1.5;
  i[t] = t;
  __syncthreads();
  y[t] = d[15 - t] + i[15 - t];
}

// kernel cached grid 1 block 32
// in x float32 = np.arange(256)
// out y float32 = x[:32] * 8
extern "C" __global__ void cached(const float *x, float *y) {
  int t = threadIdx.x;
  float v = __ldg(x + t) + __ldcg(x + t) + __ldca(x + t) + __ldcs(x + t) + __ldlu(x + t) + __ldcv(x + t), w, u;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(w) : "l"(x + t));
  asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0;\n"
               "ld.global.L1::evict_last.L2::cache_hint.f32 %0, [%1], p; }" : "=f"(u) : "l"(x + t));
  asm volatile("prefetch.global.L2 [%0];" :: "l"(x + t));
  __builtin_assume(t < 32);
  __stcs(y + t, v);
  __stwt(y + t, v);
  __stcg(y + t, v + w + u);
}

// kernel atomics grid 1 block 32
// inout x int32 = [0, 99, -99, 5, 0, -1, 0, 0, 0, 31] -> [496, 0, 31, 0, 31, 31, 31, 31, 0, -1]
// out y int32 = [1]
extern "C" __global__ void atomics(int *x, int *y) {
  int t = threadIdx.x;
  atomicAdd(&x[0], t); atomicMin(&x[1], t); atomicMax(&x[2], t);
  atomicInc((unsigned *)&x[3], 36);
  atomicOr(&x[4], t); atomicAnd(&x[5], 31); atomicXor(&x[6], t == 31 ? 31 : 0);
  atomicExch(&x[7], 31);
  atomicDec((unsigned *)&x[8], 31);
  atomicSub(&x[9], 1);
  if (t == 0) y[0] = 1;
}

// kernel atomics_wide grid 2 block 32
// inout a uint64 = [0] -> [64 * (2**33 + 1)]
// inout b float64 = [0] -> [64 * 0.5]
// inout c float32 = [1] -> [17]
// inout d int64 = [0] -> [-63]
// inout h float16 = [0, 0] -> [64, 128]
extern "C" __global__ void atomics_wide(unsigned long long *a, double *b, float *c, long long *d, __half2 *h) {
  int i = blockIdx.x * 32 + threadIdx.x;
  atomicAdd(a, (1ull << 33) + 1);
  atomicAdd(b, 0.5);
  atomicAdd(c, 0.25f);
  atomicMin(d, -(long long)i);
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
}

// kernel atomics_shared grid 1 block 64
// out y float32 = [64 * 2, 64, 63, 32]
extern "C" __global__ void atomics_shared(float *y) {
  __shared__ int n, most; __shared__ float f; __shared__ unsigned long long wide; __shared__ double d;
  if (threadIdx.x == 0) { n = 0; most = -1; f = 0; wide = 0; d = 0; }
  __syncthreads();
  atomicAdd(&n, 2); atomicAdd(&f, 1.0f); atomicMax(&most, threadIdx.x); atomicAdd(&d, 0.5); atomicAdd(&wide, 1ull);
  __syncthreads();
  if (threadIdx.x == 0) { y[0] = n; y[1] = f; y[2] = most; y[3] = wide == 64 ? d : -1; }
}

// kernel copy_unwaited grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = x
// finds race error the asynchronous copy to it has not completed
#include <cuda_pipeline.h>
extern "C" __global__ void copy_unwaited(const int *x, int *y) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  y[threadIdx.x] = s[threadIdx.x];
  __pipeline_wait_prior(0);
}

// kernel copy_without_barrier grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = x[::-1]
// finds race error hazard on shared `s
extern "C" __global__ void copy_without_barrier(const int *x, int *y) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[63 - threadIdx.x];
}

// kernel copy_one_group_early grid 1 block 32
// in x int32 = np.arange(64)
// out y int32 = np.zeros(32)
// finds race error the asynchronous copy to it has not completed
extern "C" __global__ void copy_one_group_early(const int *x, int *y) {
  __shared__ int s[2][32];
  for (int k = 0; k < 2; k++) {
    __pipeline_memcpy_async(&s[k][threadIdx.x], &x[k * 32 + threadIdx.x], 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  y[threadIdx.x] = s[1][threadIdx.x];
  __pipeline_wait_prior(0);
}

// kernel copy_past_end grid 1 block 32
// in x int32 = np.arange(31)
// out y int32 = np.arange(32)
// finds invalid-access error out-of-bounds read of 4 bytes at `x[31]`
extern "C" __global__ void copy_past_end(const int *x, int *y) {
  __shared__ int s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
