// What has no value and is used, where no output depends on it: a warning. Where one does, an error.

// kernel scan_up grid 1 block 32
// finds uninitialized-read warning `v` is used before it has a value; no output depends on its value
// in x int32 = np.arange(32)
// value n int32 = 20
// out y int32 = np.zeros(32)
extern "C" __global__ void scan_up(const int *x, int n, int *y) {
  int t = threadIdx.x;
  int v;
  if (t < n) v = x[t];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(0xffffffff, v, d);
    if (t >= d) v += u;  // <- uninitialized-read
  }
  if (t < n) y[t] = v;
  else y[t] = -1;
}

// Wrong: from above come lanes that have no value.
// kernel scan_down grid 1 block 32
// finds uninitialized-read error `v` is used
// in x int32 = np.arange(32)
// value n int32 = 20
// out y int32 = np.zeros(32)
extern "C" __global__ void scan_down(const int *x, int n, int *y) {
  int t = threadIdx.x;
  int v;
  if (t < n) v = x[t];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_down_sync(0xffffffff, v, d);
    if (t + d < 32) v += u;  // <- uninitialized-read
  }
  if (t < n) y[t] = v;
  else y[t] = -1;
}

// kernel scan_of_doubles grid 2 block 64
// finds uninitialized-read warning no output depends on its value
// in x float64 = np.ones(128)
// value n int32 = 100
// inout y float64 = np.zeros(128) -> _
extern "C" __global__ void scan_of_doubles(const double *x, int n, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v;
  if (i < n) v = x[i];
  for (int d = 1; d < 32; d *= 2) {
    double u = __shfl_up_sync(0xffffffff, v, d);
    if (i % 32 >= d) v += u;  // <- uninitialized-read
  }
  if (i < n) y[i] = v;
}

// kernel scan_of_a_tile grid 1 block 64
// finds uninitialized-read warning which no thread has written; no output depends on its value
// in x float32 = np.arange(64)
// value n int32 = 50
// inout y float32 = np.zeros(64) -> _
extern "C" __global__ void scan_of_a_tile(const float *x, int n, float *y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    float a = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += a;  // <- uninitialized-read
    __syncthreads();
  }
  if (t < n) y[t] = s[t];
}

// Wrong: the sum has all of the tile.
// kernel sum_of_a_tile grid 1 block 64
// finds uninitialized-read error which no thread has written
// in x float32 = np.arange(64)
// value n int32 = 50
// out y float32 = np.zeros(1)
extern "C" __global__ void sum_of_a_tile(const float *x, int n, float *y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];  // <- uninitialized-read
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}

// Wrong: the values above may be smaller.
// kernel least_of_a_tile grid 1 block 64
// finds uninitialized-read error which no thread has written
// in x uint32 = np.arange(64) + 100
// value n int32 = 50
// out y uint32 = np.zeros(1)
extern "C" __global__ void least_of_a_tile(const unsigned *x, int n, unsigned *y) {
  __shared__ unsigned s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] = min(s[t], s[t + d]);  // <- uninitialized-read
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}

// kernel stored_and_discarded grid 1 block 32
// finds uninitialized-read warning `v` is used
// out y int32 = np.zeros(32)
extern "C" __global__ void stored_and_discarded(int *y) {
  __shared__ int s[32];
  int t = threadIdx.x, v;
  if (t < 20) v = t;
  s[t] = v;  // <- uninitialized-read
  __syncthreads();
  int a = s[31 - t] + 1;
  y[t] = t >= 12 ? a : 0;
}

// kernel stored_and_kept grid 1 block 32
// finds uninitialized-read error `v` is used
// out y int32 = np.zeros(32)
extern "C" __global__ void stored_and_kept(int *y) {
  __shared__ int s[32];
  int t = threadIdx.x, v;
  if (t < 20) v = t;
  s[t] = v;  // <- uninitialized-read
  __syncthreads();
  int a = s[31 - t] + 1;
  y[t] = t >= 11 ? a : 0;
}

// kernel branch_and_discarded grid 1 block 32
// finds uninitialized-read warning `v` is used
// out y int32 = np.zeros(32)
extern "C" __global__ void branch_and_discarded(int *y) {
  int t = threadIdx.x, v, r;
  if (t < 20) v = t;
  if (v > 3) r = v * 2;  // <- uninitialized-read
  else r = v * 3;
  y[t] = t < 20 ? r : 0;
}

// kernel branch_and_kept grid 1 block 32
// finds uninitialized-read error `v` is used
// out y int32 = np.zeros(32)
extern "C" __global__ void branch_and_kept(int *y) {
  int t = threadIdx.x, v, r = 1;
  if (t < 20) v = t;
  if (v > 3) r = 2;  // <- uninitialized-read
  y[t] = r;
}

// Wrong: no thread sets the flag, and any value of it but 0 does the same.
// kernel flag_of_a_block grid 1 block 32
// finds uninitialized-read error `found`
// out y int32 = np.zeros(32)
extern "C" __global__ void flag_of_a_block(int *y) {
  __shared__ bool found;
  int t = threadIdx.x;
  if (t == 40) found = true;
  __syncthreads();
  y[t] = found ? 1 : 0;  // <- uninitialized-read
}

// Wrong: a value that few others are equal to.
// kernel compared_with_zero grid 1 block 32
// finds uninitialized-read error `v` is used
// out y int32 = np.zeros(32)
extern "C" __global__ void compared_with_zero(int *y) {
  int t = threadIdx.x, v;
  if (t < 20) v = t;
  y[t] = v == 0;  // <- uninitialized-read
}

// Wrong: the value of an earlier round has ended.
// kernel value_of_a_round grid 1 block 32
// finds uninitialized-read error `v` is used
// out y int32 = np.zeros(32)
extern "C" __global__ void value_of_a_round(int *y) {
  int t = threadIdx.x, r = 0;
  for (int k = 0; k < 3; ++k) {
    int v;
    if (k == 0) v = t;
    r += v;  // <- uninitialized-read
  }
  y[t] = r;
}

// Wrong: the lanes above the bound write nothing, but where they write depends on it.
// kernel place_of_a_store grid 1 block 32
// finds uninitialized-read error `k` is used
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void place_of_a_store(int *y) {
  int t = threadIdx.x, k;
  if (t < 20) k = t;
  y[k & 31] = 1;  // <- uninitialized-read
}

// Parameters that functions set, as a whole or in part.
struct Hit { float t; int id; float3 normal; };
__device__ __noinline__ bool hits(int k, Hit *h) {
  if (k % 3) return false;
  h->t = k;
  h->id = k;
  return true;
}
// kernel parameter_in_part grid 1 block 32
// out y float32 = [-(-t // 3) * 3 for t in range(32)]
extern "C" __global__ void parameter_in_part(float *y) {
  Hit best;
  best.t = 1e30f;
  for (int k = 0; k < 8; ++k) {
    Hit h;
    if (hits(k + threadIdx.x, &h) && h.t < best.t) best = h;
  }
  y[threadIdx.x] = best.t;
}
__device__ __noinline__ void set_if(int *to, int k, bool sets) { if (sets) *to = k; }
__device__ __noinline__ int get_if(int v, bool takes) { return takes ? v : -1; }
// kernel parameter_on_a_condition grid 1 block 32
// out y int32 = [t if t < 10 else -1 for t in range(32)]
extern "C" __global__ void parameter_on_a_condition(int *y) {
  int v;
  bool has = threadIdx.x < 10;
  set_if(&v, threadIdx.x, has);
  y[threadIdx.x] = get_if(v, has);
}
// kernel parameter_on_another_condition grid 1 block 32
// finds uninitialized-read error is used
// out y int32 = np.zeros(32)
extern "C" __global__ void parameter_on_another_condition(int *y) {
  int v;
  set_if(&v, threadIdx.x, threadIdx.x < 10);
  y[threadIdx.x] = get_if(v, threadIdx.x <= 10);  // <- uninitialized-read
}
// kernel array_as_a_whole grid 1 block 32
// finds uninitialized-read warning `a[2]` is used
// out y int32 = np.zeros(32)
__device__ __noinline__ void successors(int *to, const int *from, int n) {
  for (int i = 0; i < n; ++i) to[i] = from[i] + 1;  // <- uninitialized-read
}
extern "C" __global__ void array_as_a_whole(int *y) {
  int a[4], b[4];
  a[0] = threadIdx.x;
  a[1] = 1;
  successors(b, a, 4);
  y[threadIdx.x] = b[0] + b[1];
}

struct Narrow { char c; int v; };

// Wrong: the bytes of the padding decide.
// kernel compared_byte_by_byte grid 1 block 32
// finds uninitialized-read error the padding behind `p.c` is used
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void compared_byte_by_byte(const int *a, int *y) {
  Narrow p, q;
  p.c = q.c = 1;
  p.v = q.v = a[threadIdx.x];
  const unsigned char *left = (const unsigned char *)&p, *right = (const unsigned char *)&q;
  int same = 1;
  for (int i = 0; i < (int)sizeof(Narrow); i++)
    if (left[i] != right[i]) same = 0;  // <- uninitialized-read
  y[threadIdx.x] = same;
}

// Wrong: two elements that no thread has set, a row apart, are compared.
// kernel rows_compared grid 1 block 64
// finds uninitialized-read error which no thread has written
// in a int32 = np.arange(64)
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void rows_compared(const int *a, int *y) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  if (t < 32) s[0][t] = s[1][t] = a[t];
  __syncthreads();
  y[t] = s[0][t] == s[1][t];  // <- uninitialized-read
}

// A sum of members, whatever the bytes between them are.
// kernel summed_byte_by_byte grid 1 block 32
// finds uninitialized-read warning no output depends on its value
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void summed_byte_by_byte(const int *a, int *y) {
  Narrow p;
  p.c = 1;
  p.v = a[threadIdx.x];
  const unsigned char *bytes = (const unsigned char *)&p;
  int sum = 0, other = 0;
  for (int i = 0; i < (int)sizeof(Narrow); i++) {
    if (i > 0 && i < 4) other += bytes[i];  // <- uninitialized-read
    else sum += bytes[i];
  }
  y[threadIdx.x] = sum;
}

// Wrong: what an earlier kernel left in shared memory decides, where it is one value.
// kernel left_by_another grid 1 block 32
// finds uninitialized-read error which no thread has written
// in a float32 = np.arange(32)
// out y float32 = np.arange(32)
extern "C" __global__ void left_by_another(const float *a, float *y) {
  __shared__ float left[32];
  float found = left[threadIdx.x];  // <- uninitialized-read
  y[threadIdx.x] = found == 1e38f ? 0 : a[threadIdx.x];
}

// Wrong: so does a sum of it, through shared memory.
// kernel left_and_summed grid 1 block 32
// finds uninitialized-read error which no thread has written
// in a int32 = np.arange(32)
// out y int32 = np.arange(32)
extern "C" __global__ void left_and_summed(const int *a, int *y) {
  __shared__ int left[32], sums[32];
  int t = threadIdx.x;
  sums[t] = left[t] + left[t ^ 1];  // <- uninitialized-read
  __syncwarp();
  y[t] = (sums[31 - t] * 2 + 1 == 123456789) ? -1 : a[t];
}

// Wrong: what is in the tile there may be NaN, which a factor of 0 leaves.
// kernel padding_of_one_tile grid 1 block 16,16
// finds uninitialized-read error read of shared `a[0][10]`, which no thread has written
// in A float32 = np.arange(160)
// in B float32 = np.arange(160)
// out C float32 = (A.reshape(16, 10) @ B.reshape(10, 16)).ravel()
extern "C" __global__ void padding_of_one_tile(const float *A, const float *B, float *C) {
  __shared__ float a[16][16], b[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  if (x < 10) a[y][x] = A[y * 10 + x];
  b[y][x] = y < 10 ? B[y * 16 + x] : 0;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 16; k++) sum += a[y][k] * b[k][x];  // <- uninitialized-read
  C[y * 16 + x] = sum;
}

// kernel padding_of_integers grid 1 block 16,16
// finds uninitialized-read warning which no thread has written; no output depends on its value
// in A int32 = np.arange(160)
// in B int32 = np.arange(160)
// out C int32 = (A.reshape(16, 10) @ B.reshape(10, 16)).ravel()
extern "C" __global__ void padding_of_integers(const int *A, const int *B, int *C) {
  __shared__ int a[16][16], b[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  if (x < 10) a[y][x] = A[y * 10 + x];
  b[y][x] = y < 10 ? B[y * 16 + x] : 0;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 16; k++) sum += a[y][k] * b[k][x];  // <- uninitialized-read
  C[y * 16 + x] = sum;
}

// Wrong: the same in a register of doubles, which the first round multiplies by 0.
// kernel scaled_by_zero_at_first grid 1 block 32
// finds uninitialized-read error `sum` is used before it has a value
// in x float64 = np.arange(96)
// inout y float64 = np.zeros(32) -> _
extern "C" __global__ void scaled_by_zero_at_first(const double *x, double *y) {
  double sum, most = -1e308;
  for (int k = 0; k < 3; k++) {
    double v = x[k * 32 + threadIdx.x], m = fmax(most, v);
    sum = sum * exp(most - m) + exp(v - m);  // <- uninitialized-read
    most = m;
  }
  y[threadIdx.x] = most + log(sum);
}

// Products with what is unset, in columns that nothing stores.
// kernel columns_dropped grid 1 block 16,16
// finds uninitialized-read warning which no thread has written; no output depends on its value
// in A float32 = np.arange(256)
// in B float32 = np.arange(160)
// inout C float32 = np.zeros(160) -> (A.reshape(16, 16) @ B.reshape(16, 10)).ravel()
extern "C" __global__ void columns_dropped(const float *A, const float *B, float *C) {
  __shared__ float a[16][16], b[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  a[y][x] = A[y * 16 + x];
  if (x < 10) b[y][x] = B[y * 10 + x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 16; k++) sum += a[y][k] * b[k][x];  // <- uninitialized-read
  if (x < 10) C[y * 10 + x] = sum;
}

// Wrong: half of a pair is multiplied by 0.
// kernel half_times_zero grid 1 block 32
// finds uninitialized-read error read of shared `h[0]`
// in x float16 = np.arange(32)
// out y float16 = x
#include <cuda_fp16.h>
extern "C" __global__ void half_times_zero(const __half *x, __half *y) {
  __shared__ __half h[2];
  __half zero = __float2half(threadIdx.x * 0.0f);
  y[threadIdx.x] = __hfma(h[threadIdx.x & 1], zero, x[threadIdx.x]);  // <- uninitialized-read
}

// What lanes behind the row computed is replaced by 0, in the register that others read.
// kernel replaced_by_zero grid 1 block 32
// finds uninitialized-read warning which no thread has written; no output depends on its value
// in A float32 = np.arange(60) % 7
// in v float32 = np.arange(20) % 3
// out y float32 = A.reshape(3, 20) @ v
extern "C" __global__ void replaced_by_zero(const float *A, const float *v, float *y) {
  __shared__ float row[3][32], w[32];
  int x = threadIdx.x;
  if (x < 20) w[x] = v[x];
  for (int r = 0; r < 3; r++)
    if (x < 20) row[r][x] = A[r * 20 + x];
  __syncwarp();
  for (int r = 0; r < 3; r++) {
    float p = row[r][x] * w[x];  // <- uninitialized-read
    p = x < 20 ? p : 0.0f;
    for (int k = 16; k > 0; k /= 2) p += __shfl_xor_sync(~0u, p, k);
    if (x == 0) y[r] = p;
  }
}

// Wrong: what has no value chooses which of two others is taken.
// kernel chosen_by_unset grid 1 block 32
// finds uninitialized-read error which no thread has written
// in v float32 = np.arange(20)
// out y float32 = np.ones(32)
extern "C" __global__ void chosen_by_unset(const float *v, float *y) {
  __shared__ float w[32];
  int x = threadIdx.x;
  if (x < 20) w[x] = v[x];
  __syncwarp();
  float p = w[x] * 2.0f;  // <- uninitialized-read
  y[x] = p == 77.0f ? 2.0f : 1.0f;
}

// Numbers out of range count in a bin that no thread sets or reads.
// kernel bin_of_the_rest grid 1 block 64
// finds uninitialized-read warning `rest`, which no thread has written; no output depends on its value
// in x int32 = np.arange(64) % 5
// inout y int32 = np.zeros(4) -> np.full(4, 13)
extern "C" __global__ void bin_of_the_rest(const int *x, int *y) {
  __shared__ int bins[4], rest;
  int t = threadIdx.x;
  if (t < 4) bins[t] = 0;
  __syncthreads();
  atomicAdd(x[t] < 4 ? &bins[x[t]] : &rest, 1);  // <- uninitialized-read
  __syncthreads();
  if (t < 4) y[t] = bins[t];
}

// Wrong: a test reads the bin.
// kernel bin_that_decides grid 1 block 64
// finds uninitialized-read error `bins[4]`, which no thread has written
// in x int32 = np.arange(64) % 5
// inout y int32 = np.zeros(4) -> _
extern "C" __global__ void bin_that_decides(const int *x, int *y) {
  __shared__ int bins[5];
  int t = threadIdx.x;
  if (t < 4) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[x[t]], 1);  // <- uninitialized-read
  __syncthreads();
  if (t < 4) y[t] = bins[4] == 12 ? -1 : bins[t];
}

// Wrong: the number that an atomic draws decides, and the start is what was there.
// kernel number_that_decides grid 1 block 64
// finds uninitialized-read error `drawn`, which no thread has written
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void number_that_decides(int *y) {
  __shared__ int drawn;
  if (atomicAdd(&drawn, 1) == 63) y[threadIdx.x] = 1;  // <- uninitialized-read
}
