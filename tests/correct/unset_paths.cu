// Variables and elements without a value on paths that do not use it.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// kernel ternary_discard grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = [t if t > 3 else 0 for t in range(32)]
extern "C" __global__ void ternary_discard(const int *x, int *y) {
  int v, t = threadIdx.x;
  if (t > 3) v = x[t];
  int w = t > 3 ? v : 0;
  y[t] = w;
}
// kernel short_circuit grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = [1 if t > 3 and t % 2 else 0 for t in range(32)]
extern "C" __global__ void short_circuit(const int *x, int *y) {
  int v, t = threadIdx.x;
  bool has = t > 3;
  if (has) v = x[t];
  y[t] = has && v % 2 ? 1 : 0;
}
// kernel short_circuit_or grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = [1 if t <= 3 or t % 2 else 0 for t in range(32)]
extern "C" __global__ void short_circuit_or(const int *x, int *y) {
  int v, t = threadIdx.x;
  bool has = t > 3;
  if (has) v = x[t];
  y[t] = !has || v & 1 ? 1 : 0;
}
// kernel fallthrough grid 1 block 32
// out y int32 = [(3, 2, 1, 0)[t % 4] for t in range(32)]
extern "C" __global__ void fallthrough(int *y) {
  int v, t = threadIdx.x;
  switch (t % 4) {
    case 0: v = 1; v++;
    case 1: if (t % 4 == 1) v = 1; v++;
    case 2: if (t % 4 == 2) v = 1; break;
    default: v = 0;
  }
  y[t] = v;
}
// kernel zero_trips grid 1 block 32
// value n int32 = 0
// out y int32 = np.zeros(32)
extern "C" __global__ void zero_trips(int n, int *y) {
  int last, t = threadIdx.x;
  for (int i = 0; i < n; i++) last = i;
  y[t] = n > 0 ? last : 0;
}
// kernel goto_set grid 1 block 32
// out y int32 = [t if t % 2 else -t for t in range(32)]
extern "C" __global__ void goto_set(int *y) {
  int v, t = threadIdx.x;
  if (t & 1) goto odd;
  v = -t;
  goto done;
odd:
  v = t;
done:
  y[t] = v;
}
__device__ int fact(int n, int *depth) { int r; if (n <= 1) { *depth = 0; r = 1; } else { r = n * fact(n - 1, depth); ++*depth; } return r; }
// kernel recursion grid 1 block 8
// out y int32 = [1, 1, 3, 8, 27, 124, 725, 5046]
extern "C" __global__ void recursion(int *y) {
  int d;
  int f = fact(threadIdx.x, &d);
  y[threadIdx.x] = f + d;
}
// kernel lambda_ref grid 1 block 32
// out y int32 = np.arange(32) * 2 + 1
extern "C" __global__ void lambda_ref(int *y) {
  int a, b;
  auto set = [&](int v) { a = v; b = v + 1; };
  set(threadIdx.x);
  y[threadIdx.x] = a + b;
}
// kernel lambda_part grid 1 block 32
// out y int32 = np.arange(32)
extern "C" __global__ void lambda_part(int *y) {
  int a, b;
  auto get = [&](bool which) { return which ? a : b; };
  a = threadIdx.x;
  y[threadIdx.x] = get(true);
}
// kernel regs_partial grid 1 block 32
// value n int32 = 3
// in x float32 = np.arange(256)
// out y float32 = [sum(range(8 * t, 8 * t + 3)) for t in range(32)]
extern "C" __global__ void regs_partial(int n, const float *x, float *y) {
  float r[8], sum = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) if (i < n) r[i] = x[8 * threadIdx.x + i];
#pragma unroll
  for (int i = 0; i < 8; i++) if (i < n) sum += r[i];
  y[threadIdx.x] = sum;
}
// kernel regs_select grid 1 block 32
// value n int32 = 3
// in x float32 = np.arange(256)
// out y float32 = [sum(range(8 * t, 8 * t + 3)) for t in range(32)]
extern "C" __global__ void regs_select(int n, const float *x, float *y) {
  float r[8], sum = 0;
  for (int i = 0; i < n; i++) r[i] = x[8 * threadIdx.x + i];
#pragma unroll
  for (int i = 0; i < 8; i++) sum += i < n ? r[i] : 0.f;
  y[threadIdx.x] = sum;
}
// kernel regs_multiply grid 1 block 32
// value n int32 = 3
// in x float32 = np.arange(256)
// out y float32 = [sum(range(8 * t, 8 * t + 3)) for t in range(32)]
extern "C" __global__ void regs_multiply(int n, const float *x, float *y) {
  float r[8], q[8];
  for (int i = 0; i < n; i++) r[i] = x[8 * threadIdx.x + i];
  for (int i = 0; i < n; i++) q[i] = r[i] * 1.f;
  float sum = 0;
  for (int i = 0; i < n; i++) sum += q[i];
  y[threadIdx.x] = sum;
}
// kernel shuffle_struct grid 1 block 32
// out y int32 = [((t + 1) % 32) for t in range(32)]
struct KV { int key; float value; };
extern "C" __global__ void shuffle_struct(int *y) {
  KV kv;
  int t = threadIdx.x;
  kv.key = t;
  if (t & 1) kv.value = t;
  KV other;
  other.key = __shfl_sync(~0u, kv.key, (t + 1) % 32);
  other.value = __shfl_sync(~0u, kv.value, (t + 1) % 32);
  y[t] = (t + 1) & 1 ? (int)other.value : other.key;
}
// kernel tile_guarded grid 1 block 64
// value n int32 = 40
// in x float32 = np.arange(40)
// out y float32 = [(k - 1 if k else 0) + k + (k + 1 if k < 39 else 0) for k in range(40)]
extern "C" __global__ void tile_guarded(int n, const float *x, float *y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  if (t >= n) return;
  float left = t > 0 ? s[t - 1] : 0, right = t + 1 < n ? s[t + 1] : 0;
  y[t] = left + s[t] + right;
}
// kernel tile_eager grid 1 block 64
// value n int32 = 40
// in x float32 = np.arange(40)
// out y float32 = [(k - 1 if k else 0) + k + (k + 1 if k < 39 else 0) for k in range(40)]
extern "C" __global__ void tile_eager(int n, const float *x, float *y) {
  __shared__ float s[66];
  int t = threadIdx.x;
  if (t < n) s[t + 1] = x[t];
  __syncthreads();
  float a = s[t], b = s[t + 1], c = s[t + 2];
  if (t == 0) a = 0;
  if (t == n - 1) c = 0;
  if (t < n) y[t] = a + b + c;
}
// kernel phases_union grid 1 block 64
// out y float32 = [63 - t for t in range(64)]
extern "C" __global__ void phases_union(float *y) {
  __shared__ union { int keys[64]; struct { float v[32]; double d[16]; } b; } u;
  int t = threadIdx.x;
  u.keys[t] = t;
  __syncthreads();
  int k = u.keys[63 - t];
  __syncthreads();
  if (t < 32) u.b.v[t] = 1; else if (t < 48) u.b.d[t - 32] = 2;
  __syncthreads();
  y[t] = k + (t < 32 ? u.b.v[t] - 1 : t < 48 ? (float)u.b.d[t - 32] - 2 : 0);
}
extern __shared__ __align__(16) unsigned char raw[];
// kernel carve grid 1 block 32 shared 512
// out y float64 = 3.0 * np.arange(32)[::-1]
extern "C" __global__ void carve(double *y) {
  double *d = (double *)raw;
  float *f = (float *)(d + 32);
  short *h = (short *)(f + 16);
  int t = threadIdx.x;
  d[t] = t;
  if (t < 16) f[t] = 2 * t;
  h[t] = t;
  __syncthreads();
  int o = 31 - t;
  y[t] = d[o] + h[o] + (o < 16 ? f[o] / 2 : o);
}
__device__ void fill(float *p, int n, float v) { for (int i = 0; i < n; i++) p[i] = v + i; }
__device__ float total(const float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
// kernel local_by_pointer grid 1 block 32
// out y float32 = [3 * t + 3 for t in range(32)]
extern "C" __global__ void local_by_pointer(float *y) {
  float a[8];
  fill(a, 3, threadIdx.x);
  y[threadIdx.x] = total(a, 3);
}
struct Acc { float sum; int count; __device__ float mean() const { return count ? sum / count : 0.f; } };
// kernel struct_return grid 1 block 32
// out y float32 = np.zeros(32)
__device__ Acc empty_acc() { Acc a; a.count = 0; return a; }
extern "C" __global__ void struct_return(float *y) {
  Acc a = empty_acc();
  y[threadIdx.x] = a.mean();
}
// kernel swap_unset grid 1 block 32
// out y int32 = np.arange(32)
extern "C" __global__ void swap_unset(int *y) {
  int a, b = threadIdx.x;
  int t = a; a = b; b = t;
  y[threadIdx.x] = a;
}
// kernel double_buffer grid 1 block 32
// in x float32 = np.arange(128)
// out y float32 = [sum(t + 32 * k for k in range(4)) for t in range(32)]
extern "C" __global__ void double_buffer(const float *x, float *y) {
  __shared__ float s[2][32];
  int t = threadIdx.x;
  float sum = 0, next;
  s[0][t] = x[t];
  for (int k = 0; k < 4; k++) {
    if (k < 3) next = x[32 * (k + 1) + t];
    __syncthreads();
    sum += s[k & 1][t];
    if (k < 3) s[(k + 1) & 1][t] = next;
  }
  y[t] = sum;
}
// kernel argmax_first grid 1 block 32
// in x float32 = np.array([5, 9, 2, 9] * 32)
// out y int32 = [1] * 32
extern "C" __global__ void argmax_first(const float *x, int *y) {
  float best; int at;
  for (int i = 0; i < 4; i++) {
    float v = x[4 * threadIdx.x + i];
    if (i == 0 || v > best) { best = v; at = i; }
  }
  y[threadIdx.x] = at;
}
// kernel optional_out grid 1 block 32
// out y int32 = [t // 2 if t % 2 == 0 else -1 for t in range(32)]
__device__ bool halve(int v, int &out) { if (v & 1) return false; out = v / 2; return true; }
extern "C" __global__ void optional_out(int *y) {
  int h;
  bool ok = halve(threadIdx.x, h);
  y[threadIdx.x] = ok ? h : -1;
}
// kernel bitset grid 1 block 32
// out y uint32 = [1] * 32
extern "C" __global__ void bitset(unsigned *y) {
  unsigned m;
  m &= 0; m |= 1;
  y[threadIdx.x] = m;
}
// kernel loop_carry grid 1 block 32
// out y int32 = [0 + 1 + 2] * 32
extern "C" __global__ void loop_carry(int *y) {
  int prev, sum = 0;
  for (int i = 0; i < 4; i++) { if (i) sum += prev; prev = i; }
  y[threadIdx.x] = sum;
}
// kernel warp_reduce_guard grid 1 block 32
// in x int32 = np.arange(20)
// value n int32 = 20
// out y int32 = [190]
extern "C" __global__ void warp_reduce_guard(const int *x, int n, int *y) {
  int t = threadIdx.x, v;
  if (t < n) v = x[t];
  for (int d = 16; d; d /= 2) { int o = __shfl_down_sync(~0u, v, d); if (t + d < n) v += o; }
  if (t == 0) *y = v;
}
// kernel ballot_guard grid 1 block 32
// in x int32 = np.arange(20)
// value n int32 = 20
// out y int32 = [10]
extern "C" __global__ void ballot_guard(const int *x, int n, int *y) {
  int t = threadIdx.x, v;
  if (t < n) v = x[t];
  unsigned m = __ballot_sync(~0u, t < n && v & 1);
  if (t == 0) *y = __popc(m);
}
