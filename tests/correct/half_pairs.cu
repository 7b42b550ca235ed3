// Pairs of 16-bit numbers of which one was never set: the copy constructors of the library copy both as a word.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

// Wrong: the high half.
// kernel copied_to_output grid 1 block 32
// finds uninitialized-read error `s[31].y`
// out y float16 = np.arange(64)
extern "C" __global__ void copied_to_output(__half2 *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  y[t] = s[31 - t];  // <- uninitialized-read
}

// Wrong: the low half.
// kernel bf16_to_output grid 1 block 32
// finds uninitialized-read error `s[31].x`
// out y uint16 = np.arange(64)
extern "C" __global__ void bf16_to_output(__nv_bfloat162 *y) {
  __shared__ __nv_bfloat162 s[32];
  int t = threadIdx.x;
  s[t].y = __float2bfloat16(t);
  __syncthreads();
  y[t] = s[31 - t];  // <- uninitialized-read
}

// Wrong: the half of a local pair.
// kernel local_to_output grid 1 block 32
// out y float16 = np.arange(64)
extern "C" __global__ void local_to_output(__half2 *y) {
  __half2 v;
  v.x = __int2half_rn(threadIdx.x);
  y[threadIdx.x] = v;  // <- uninitialized-read
}

// The half that was not set is not used.
// kernel low_of_a_copy grid 1 block 32
// out y float32 = np.arange(32)[::-1]
extern "C" __global__ void low_of_a_copy(float *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  __half2 v = s[31 - t];
  y[t] = __low2float(v);
}

// Wrong: it is.
// kernel high_of_a_copy grid 1 block 32
// out y float32 = np.arange(32)[::-1]
extern "C" __global__ void high_of_a_copy(float *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  __half2 v = s[31 - t];  // <- uninitialized-read
  y[t] = __high2float(v);
}

// Wrong: both halves are used.
// kernel both_of_a_copy grid 1 block 32
// out y float32 = np.arange(32)[::-1]
extern "C" __global__ void both_of_a_copy(float *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  __half2 v = s[31 - t];  // <- uninitialized-read
  y[t] = __low2float(v) + __high2float(v);
}

// The copy gets its other half.
// kernel completed_copy grid 1 block 32
// out y float16 = np.stack([np.arange(32)[::-1], np.ones(32)], 1).reshape(-1)
extern "C" __global__ void completed_copy(__half2 *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  __half2 v = s[31 - t];
  v.y = __float2half(1);
  y[t] = v;
}

// The output gets its other half.
// kernel completed_output grid 1 block 32
// out y float16 = np.stack([np.arange(32)[::-1], np.ones(32)], 1).reshape(-1)
extern "C" __global__ void completed_output(__half2 *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __int2half_rn(t);
  __syncthreads();
  y[t] = s[31 - t];
  y[t].y = __float2half(1);
}

// Wrong: half of the pairs were never set.
// kernel pairs_never_set grid 1 block 32
// out y float32 = np.arange(32)[::-1]
extern "C" __global__ void pairs_never_set(float *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  if (t < 16) s[t] = __half2half2(__int2half_rn(t));
  __syncthreads();
  __half2 v = s[31 - t];  // <- uninitialized-read
  y[t] = __low2float(v);
}

// A function of the program's copies words, too. Wrong: a bit of the other half is used.
// kernel copied_by_a_function grid 1 block 32
// out y int32 = np.arange(32)[::-1] + 1
struct Pair { short x, y; };
__device__ __noinline__ void copy(unsigned *to, const unsigned *from) { *to = *from; }  // <- uninitialized-read
extern "C" __global__ void copied_by_a_function(int *y) {
  __shared__ Pair s[32];
  unsigned v;
  int t = threadIdx.x;
  s[t].x = t;
  __syncthreads();
  copy(&v, reinterpret_cast<unsigned *>(&s[31 - t]));
  y[t] = (v & 0x1ffff) + 1;
}

// Halves are computed apart. The high half of a sum is not used.
// kernel low_of_a_sum grid 1 block 32
// in x float16 = np.arange(32)
// out y float32 = np.arange(32) * 2
extern "C" __global__ void low_of_a_sum(const __half *x, float *y) {
  __half2 v;
  v.x = x[threadIdx.x];
  y[threadIdx.x] = __low2float(__hadd2(v, v));
}

// Wrong: it is.
// kernel high_of_a_product grid 1 block 32
// in x float16 = np.arange(32)
// out y float32 = np.arange(32)
extern "C" __global__ void high_of_a_product(const __half *x, float *y) {
  __half2 v;
  v.x = x[threadIdx.x];
  __half2 w = __hmul2(v, __float2half2_rn(2.0f));
  y[threadIdx.x] = __high2float(w);  // <- uninitialized-read
}

// The last pair has one number; the second result is not stored.
// kernel odd_count grid 1 block 32
// in x float16 = np.arange(33)
// out y float16 = np.arange(33) * 3
extern "C" __global__ void odd_count(const __half *x, __half *y) {
  int at = 2 * threadIdx.x;
  if (at > 32) return;
  __half2 v;
  v.x = x[at];
  if (at < 32) v.y = x[at + 1];
  __half2 w = __hfma2(v, __float2half2_rn(2.0f), v);
  y[at] = w.x;
  if (at < 32) y[at + 1] = w.y;
}

// Wrong: both are stored.
// kernel odd_count_stored_whole grid 1 block 32
// in x float16 = np.arange(33)
// out y float16 = np.arange(34) * 3
extern "C" __global__ void odd_count_stored_whole(const __half *x, __half2 *y) {
  int t = threadIdx.x;
  if (t > 16) return;
  __half2 v;
  v.x = x[2 * t];
  if (t < 16) v.y = x[2 * t + 1];
  y[t] = __hfma2(v, __float2half2_rn(2.0f), v);  // <- uninitialized-read
}

// kernel low_of_a_bf16_maximum grid 1 block 32
// in x uint16 = np.full(32, 0x4000)
// out y float32 = np.full(32, 2)
extern "C" __global__ void low_of_a_bf16_maximum(const __nv_bfloat16 *x, float *y) {
  __shared__ __nv_bfloat162 s[32];
  int t = threadIdx.x;
  s[t].x = x[t];
  __syncthreads();
  y[t] = __low2float(__hmax2(s[31 - t], __float2bfloat162_rn(1.0f)));
}

// Wrong: the half that was set is not the one that is used.
// kernel high_of_a_bf16_sum grid 1 block 32
// in x uint16 = np.full(32, 0x4000)
// out y float32 = np.full(32, 2)
extern "C" __global__ void high_of_a_bf16_sum(const __nv_bfloat16 *x, float *y) {
  __shared__ __nv_bfloat162 s[32];
  int t = threadIdx.x;
  s[t].x = x[t];
  __syncthreads();
  __nv_bfloat162 w = __hadd2(s[31 - t], s[t]);  // <- uninitialized-read
  y[t] = __high2float(w);
}

// kernel pairs_added_at_once grid 2 block 32
// in at int32 = np.arange(64) % 4
// in x float16 = np.ones(128)
// inout y float16 = np.zeros(8) -> np.full(8, 16)
extern "C" __global__ void pairs_added_at_once(const int *at, const half2 *x, half2 *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  atomicAdd(&y[at[i]], x[i]);
}

// kernel pairs_added_in_two_steps grid 2 block 32
// in at int32 = np.arange(64) % 4
// in x float16 = np.ones(128)
// inout y float16 = np.zeros(8) -> _
// hints reads `y`, computes and writes it back: two steps
// hints Use one atomic, such as atomicAdd
extern "C" __global__ void pairs_added_in_two_steps(const int *at, const half2 *x, half2 *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  y[at[i]] = __hadd2(y[at[i]], x[i]);  // <- race
}
