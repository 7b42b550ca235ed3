// Wrong: kernels of unions.cu and unset_paths.cu that use what has no value.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
union Word { unsigned w; unsigned char b[4]; unsigned short h[2]; float f; };
// kernel union_bytes grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void union_bytes(unsigned *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  for (int k = 0; k < 3; k++) s[t].b[k] = t;
  __syncthreads();
  y[t] = s[31 - t].w + 1;  // <- uninitialized-read
}
// kernel union_other_byte grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void union_other_byte(unsigned *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].b[2] = t;
  __syncthreads();
  Word w = s[31 - t];  // <- uninitialized-read
  y[t] = w.b[1] + 1;  // <- uninitialized-read
}
// kernel union_local grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void union_local(unsigned *y) {
  Word w;
  w.h[1] = threadIdx.x;
  Word v = w;
  y[threadIdx.x] = v.h[0] + 1;  // <- uninitialized-read
}
// kernel union_byte_shift grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void union_byte_shift(unsigned *y) {
  Word w;
  w.b[3] = threadIdx.x;
  y[threadIdx.x] = w.w >> 16;  // <- uninitialized-read
}
struct Bits { unsigned a : 5; unsigned b : 7; unsigned c : 20; };
// kernel bits_third grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void bits_third(unsigned *y) {
  __shared__ Bits s[32];
  int t = threadIdx.x;
  s[t].a = t; s[t].c = t;
  __syncthreads();
  Bits q = s[31 - t];  // <- uninitialized-read
  y[t] = q.a + q.b;  // <- uninitialized-read
}
// kernel bits_local grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void bits_local(unsigned *y) {
  Bits q;
  q.b = threadIdx.x; q.a = threadIdx.x;
  Bits r = q;
  y[threadIdx.x] = r.a + r.c;  // <- uninitialized-read
}
#pragma pack(push, 1)
struct Packed { char c; int i; short s; };
#pragma pack(pop)
// kernel packed_part grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void packed_part(int *y) {
  __shared__ Packed s[32];
  int t = threadIdx.x;
  s[t].i = t; s[t].s = 1;
  __syncthreads();
  Packed q = s[31 - t];  // <- uninitialized-read
  y[t] = q.i + q.c;
}
// kernel uchar4_w grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void uchar4_w(int *y) {
  __shared__ uchar4 s[32];
  int t = threadIdx.x;
  s[t].x = t; s[t].y = t; s[t].z = t;
  __syncthreads();
  uchar4 q = s[31 - t];  // <- uninitialized-read
  y[t] = q.x + q.w;
}
// kernel ushort2_other grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void ushort2_other(int *y) {
  __shared__ ushort2 s[32];
  int t = threadIdx.x;
  s[t].y = t;
  __syncthreads();
  ushort2 q = s[31 - t];  // <- uninitialized-read
  y[t] = q.x + 1;
}
// kernel half2_sum grid 1 block 32
// out y float32 = np.zeros(32)
extern "C" __global__ void half2_sum(float *y) {
  __half2 h;
  h.x = __float2half(threadIdx.x);
  h = __hadd2(h, h);
  y[threadIdx.x] = __high2float(h);  // <- uninitialized-read
}
// kernel bf162_high grid 1 block 32
// out y float32 = np.zeros(32)
extern "C" __global__ void bf162_high(float *y) {
  __shared__ __nv_bfloat162 s[32];
  int t = threadIdx.x;
  s[t].x = __float2bfloat16(t);
  __syncthreads();
  y[t] = __bfloat162float(s[31 - t].y);  // <- uninitialized-read
}
// kernel double3_y grid 1 block 32
// out y float64 = np.zeros(32)
extern "C" __global__ void double3_y(double *y) {
  __shared__ double3 s[32];
  int t = threadIdx.x;
  s[t].x = t; s[t].z = t;
  __syncthreads();
  double3 q = s[31 - t];  // <- uninitialized-read
  y[t] = q.x + q.y;
}
struct __align__(4) PairA { short a, b; };
// kernel memcpy_struct grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void memcpy_struct(int *y) {
  __shared__ PairA s[32];
  int t = threadIdx.x;
  s[t].b = t;
  __syncthreads();
  PairA q;
  memcpy(&q, &s[31 - t], sizeof q);  // <- uninitialized-read
  y[t] = q.a + 1;  // <- uninitialized-read
}
// kernel memcpy_bits grid 1 block 32
// out y float32 = np.zeros(32)
extern "C" __global__ void memcpy_bits(float *y) {
  float f = threadIdx.x; unsigned u; float g;
  memcpy(&u, &f, 3);
  memcpy(&g, &u, 4);
  y[threadIdx.x] = g + 1;  // <- uninitialized-read
}
enum class Kind : unsigned char { A, B, C };
struct Shape { Kind kind; union { float r; float wh[2]; }; };
// kernel variant_wrong grid 1 block 30
// out y float32 = np.zeros(30)
extern "C" __global__ void variant_wrong(float *y) {
  __shared__ Shape s[30];
  int t = threadIdx.x;
  Shape q;
  if (t % 3 == 0) { q.kind = Kind::A; q.r = t; } else { q.kind = Kind::B; q.wh[0] = t; q.wh[1] = 2; }
  s[t] = q;  // <- uninitialized-read
  __syncthreads();
  Shape p = s[29 - t];  // <- uninitialized-read
  y[t] = p.wh[0] * p.wh[1];  // <- uninitialized-read
}
// kernel ternary grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32)
extern "C" __global__ void ternary(const int *x, int *y) {
  int v, t = threadIdx.x;
  if (t > 3) v = x[t];
  y[t] = t > 2 ? v : 0;  // <- uninitialized-read
}
// kernel short_circuit grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32)
extern "C" __global__ void short_circuit(const int *x, int *y) {
  int v, t = threadIdx.x;
  bool has = t > 3;
  if (has) v = x[t];
  y[t] = v % 2 && has ? 1 : 0;  // <- uninitialized-read
}
// kernel fallthrough grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void fallthrough(int *y) {
  int v, t = threadIdx.x;
  switch (t % 4) {
    case 0: v = 1;
    case 1: v++;  // <- uninitialized-read
    case 2: break;
    default: v = 0;
  }
  if (t % 4 != 2) y[t] = v;
}
// kernel zero_trips grid 1 block 32
// value n int32 = 0
// out y int32 = np.zeros(32)
extern "C" __global__ void zero_trips(int n, int *y) {
  int last, t = threadIdx.x;
  for (int i = 0; i < n; i++) last = i;
  y[t] = n >= 0 ? last : 0;  // <- uninitialized-read
}
// kernel goto_set grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void goto_set(int *y) {
  int v, t = threadIdx.x;
  if (t & 1) goto done;
  v = -t;
done:
  y[t] = v;  // <- uninitialized-read
}
// kernel recursion grid 1 block 8
// out y int32 = np.zeros(8)
__device__ int fact(int n, int *depth) { int r; if (n <= 1) { r = 1; } else { r = n * fact(n - 1, depth); ++*depth; } return r; }  // <- uninitialized-read
extern "C" __global__ void recursion(int *y) {
  int d;
  int f = fact(threadIdx.x, &d);
  y[threadIdx.x] = f + d;  // <- uninitialized-read
}
// kernel lambda_part grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void lambda_part(int *y) {
  int a, b;
  auto get = [&](bool which) { return which ? a : b; };  // <- uninitialized-read
  a = threadIdx.x;
  y[threadIdx.x] = get(threadIdx.x < 16);  // <- uninitialized-read
}
// kernel regs_partial grid 1 block 32
// value n int32 = 3
// in x float32 = np.arange(256)
// out y float32 = np.zeros(32)
extern "C" __global__ void regs_partial(int n, const float *x, float *y) {
  float r[8], sum = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) if (i < n) r[i] = x[8 * threadIdx.x + i];
#pragma unroll
  for (int i = 0; i < 8; i++) if (i <= n) sum += r[i];  // <- uninitialized-read
  y[threadIdx.x] = sum;
}
struct KV { int key; float value; };
// kernel shuffle_struct grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void shuffle_struct(int *y) {
  KV kv;
  int t = threadIdx.x;
  kv.key = t;
  if (t & 1) kv.value = t;
  KV other;
  other.key = __shfl_sync(~0u, kv.key, (t + 1) % 32);
  other.value = __shfl_sync(~0u, kv.value, (t + 1) % 32);  // <- uninitialized-read
  y[t] = t & 1 ? (int)other.value : other.key;  // <- uninitialized-read
}
// kernel tile_guarded grid 1 block 64
// value n int32 = 40
// in x float32 = np.arange(40)
// out y float32 = np.zeros(40)
extern "C" __global__ void tile_guarded(int n, const float *x, float *y) {
  __shared__ float s[65];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  if (t >= n) return;
  y[t] = s[t] + (t < n ? s[t + 1] : 0);  // <- uninitialized-read
}
// kernel tile_eager grid 1 block 64
// value n int32 = 40
// in x float32 = np.arange(40)
// out y float32 = np.zeros(40)
extern "C" __global__ void tile_eager(int n, const float *x, float *y) {
  __shared__ float s[66];
  int t = threadIdx.x;
  if (t < n) s[t + 1] = x[t];
  __syncthreads();
  float a = s[t], b = s[t + 1], c = s[t + 2];  // <- uninitialized-read
  if (t == 0) a = 0;
  if (t < n) y[t] = a + b + c;
}
// kernel phases_union grid 1 block 64
// out y float32 = np.zeros(64)
extern "C" __global__ void phases_union(float *y) {
  __shared__ union { int keys[64]; struct { float v[32]; double d[16]; } b; } u;
  int t = threadIdx.x;
  if (t < 32) u.b.v[t] = 1; else if (t < 40) u.b.d[t - 32] = 2;
  __syncthreads();
  y[t] = t < 32 ? u.b.v[t] : t < 48 ? (float)u.b.d[t - 32] : 0;  // <- uninitialized-read
}
// kernel local_by_pointer grid 1 block 32
// out y float32 = np.zeros(32)
__device__ void fill(float *p, int n, float v) { for (int i = 0; i < n; i++) p[i] = v + i; }
__device__ float total(const float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }  // <- uninitialized-read
extern "C" __global__ void local_by_pointer(float *y) {
  float a[8];
  fill(a, 3, threadIdx.x);
  y[threadIdx.x] = total(a, 4);
}
// kernel struct_return grid 1 block 32
// out y float32 = np.zeros(32)
struct Acc { float sum; int count; __device__ float mean() const { return count ? sum / count : 0.f; } };  // <- uninitialized-read
__device__ Acc one_acc() { Acc a; a.count = 1; return a; }
extern "C" __global__ void struct_return(float *y) {
  Acc a = one_acc();
  y[threadIdx.x] = a.mean();
}
// kernel swap_unset grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void swap_unset(int *y) {
  int a, b = threadIdx.x;
  int t = a; a = b; b = t;
  y[threadIdx.x] = b;  // <- uninitialized-read
}
// kernel argmax_first grid 1 block 32
// in x float32 = np.array([5, 9, 2, 9] * 32)
// out y int32 = [1] * 32
extern "C" __global__ void argmax_first(const float *x, int *y) {
  float best; int at;
  for (int i = 0; i < 4; i++) {
    float v = x[4 * threadIdx.x + i];
    if (i == 1 || v > best) { best = v; at = i; }  // <- uninitialized-read
  }
  y[threadIdx.x] = at;
}
// kernel optional_out grid 1 block 32
// out y int32 = np.zeros(32)
__device__ bool halve(int v, int &out) { if (v & 1) return false; out = v / 2; return true; }
extern "C" __global__ void optional_out(int *y) {
  int h;
  halve(threadIdx.x, h);
  y[threadIdx.x] = h;  // <- uninitialized-read
}
// kernel bitset grid 1 block 32
// out y uint32 = np.zeros(32)
extern "C" __global__ void bitset(unsigned *y) {
  unsigned m;  // <- uninitialized-read
  m &= 2; m |= 1;  // <- uninitialized-read
  y[threadIdx.x] = m;  // <- uninitialized-read
}
// kernel loop_carry grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void loop_carry(int *y) {
  int prev, sum = 0;
  for (int i = 0; i < 4; i++) { sum += prev; prev = i; }  // <- uninitialized-read
  y[threadIdx.x] = sum;
}
// kernel warp_reduce grid 1 block 32
// in x int32 = np.arange(20)
// value n int32 = 20
// out y int32 = [190]
extern "C" __global__ void warp_reduce(const int *x, int n, int *y) {
  int t = threadIdx.x, v;
  if (t < n) v = x[t];
  for (int d = 16; d; d /= 2) { int o = __shfl_down_sync(~0u, v, d); v += o; }  // <- uninitialized-read
  if (t == 0) *y = v;  // <- uninitialized-read
}
// kernel ballot_guard grid 1 block 32
// in x int32 = np.arange(20)
// value n int32 = 20
// out y int32 = [10]
extern "C" __global__ void ballot_guard(const int *x, int n, int *y) {
  int t = threadIdx.x, v;
  if (t < n) v = x[t];
  unsigned m = __ballot_sync(~0u, v & 1);  // <- uninitialized-read
  if (t == 0) *y = __popc(m);
}

// A member of what a function returns, which is in no variable.

struct Returned { float x, y; };
__device__ Returned half_set(float a) { Returned p; p.x = a; return p; }
// kernel member_of_a_result grid 1 block 32
// inout out float32 = np.zeros(32) -> _
// finds uninitialized-read error member `y` of what `half_set` returns is used before it has a value
// hints Give it a value on every path through `half_set`.
extern "C" __global__ void member_of_a_result(float *out)
{
  out[threadIdx.x] = half_set(threadIdx.x).y;  // <- uninitialized-read
}

// kernel other_member_of_a_result grid 1 block 32
// out out float32 = np.arange(32)
extern "C" __global__ void other_member_of_a_result(float *out)
{
  out[threadIdx.x] = half_set(threadIdx.x).x;
}

// Wrong: a neighbor's element is read before it has a value. The neighbor's later store is in order, and explains nothing.
// kernel read_before_the_first_round grid 1 block 64
// out y int32 = np.zeros(64)
extern "C" __global__ void read_before_the_first_round(int *y) {
  __shared__ int s[64];
  int i = threadIdx.x, sum = 0;
  for (int round = 0; round < 3; ++round) {
    sum += s[i ^ 1];  // <- uninitialized-read
    __syncwarp();
    s[i] = i + round;
    __syncwarp();
  }
  y[i] = sum;
}

// kernel read_behind_the_first_round grid 1 block 64
// out y int32 = 2 * (np.arange(64) ^ 1) + 1
extern "C" __global__ void read_behind_the_first_round(int *y) {
  __shared__ int s[64];
  int i = threadIdx.x, sum = 0;
  for (int round = 0; round < 3; ++round) {
    sum += round > 0 ? s[i ^ 1] : 0;
    __syncwarp();
    s[i] = i + round;
    __syncwarp();
  }
  y[i] = sum;
}

// Wrong: of a neighbor's word, 3 bits have a value.
// kernel bits_of_a_neighbor grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void bits_of_a_neighbor(int *y) {
  __shared__ unsigned s[32];
  int i = threadIdx.x;
  s[i] = (s[i] & ~7u) | (i & 7);
  __syncwarp();
  y[31 - i] = s[31 - i] >> 3;  // <- uninitialized-read
}

// kernel bits_of_a_neighbor_set grid 1 block 32
// out y int32 = np.arange(32) & 7
extern "C" __global__ void bits_of_a_neighbor_set(int *y) {
  __shared__ unsigned s[32];
  int i = threadIdx.x;
  s[i] = (s[i] & ~7u) | (i & 7);
  __syncwarp();
  y[31 - i] = s[31 - i] & 7;
}
