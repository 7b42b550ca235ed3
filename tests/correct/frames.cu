// Accesses at constant places in a stack frame: wide ones that leave the variable they begin in, and ones that
// end with it.

struct Point { float x, y, z; };
struct Pixel { unsigned char r, g, b; };
union Word { float f[2]; double d; };

// Wrong: the vector has two elements more than are left of the array.
// kernel vector_read_past_end grid 1 block 32
// finds invalid-access error out-of-bounds read of 16 bytes at `a[4]`, 8 bytes past the end of local `a`
// in x float32 = np.arange(32)
// out y float32 = x
extern "C" __global__ void vector_read_past_end(const float *x, float *y) {
  alignas(16) float a[6];
  alignas(16) float b[8];
  int t = threadIdx.x;
  for (int k = 0; k < 6; ++k) a[k] = x[t];
  for (int k = 0; k < 8; ++k) b[k] = x[t];
  float4 v = *reinterpret_cast<float4 *>(&a[4]);  // <- invalid-access
  y[t] = (v.x + v.y + b[t % 8]) / 3;
}

// kernel vector_read_at_end grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = x
extern "C" __global__ void vector_read_at_end(const float *x, float *y) {
  alignas(16) float a[8];
  alignas(16) float b[8];
  int t = threadIdx.x;
  for (int k = 0; k < 8; ++k) a[k] = x[t];
  for (int k = 0; k < 8; ++k) b[k] = x[t];
  float4 v = *reinterpret_cast<float4 *>(&a[4]);
  y[t] = (v.x + v.y + b[t % 8]) / 3;
}

// Wrong: the second vector of three.
// kernel odd_row grid 1 block 32
// finds invalid-access error 8 bytes past the end of local `row`
// out y float32 = np.arange(32)
extern "C" __global__ void odd_row(float *y) {
  alignas(16) float row[6];
  alignas(16) float next[4];
  int t = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 4; ++k) next[k] = t;
#pragma unroll
  for (int k = 0; k < 2; ++k) reinterpret_cast<float4 *>(row)[k] = make_float4(t, t, t, t);  // <- invalid-access
  y[t] = (row[t % 6] + next[t % 4]) / 2;
}

// kernel even_row grid 1 block 32
// out y float32 = np.arange(32)
extern "C" __global__ void even_row(float *y) {
  alignas(16) float row[8];
  alignas(16) float next[4];
  int t = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 4; ++k) next[k] = t;
#pragma unroll
  for (int k = 0; k < 2; ++k) reinterpret_cast<float4 *>(row)[k] = make_float4(t, t, t, t);
  y[t] = (row[t % 8] + next[t % 4]) / 2;
}

// Wrong: a float read as a double.
// kernel float_as_double grid 1 block 32
// finds invalid-access error out-of-bounds read of 8 bytes at `f`, 4 bytes past the end of local `f`
// in x float32 = np.arange(32)
// out y int32 = np.zeros(32)
extern "C" __global__ void float_as_double(const float *x, int *y) {
  float f = x[threadIdx.x];
  double d = *(double *)&f;  // <- invalid-access
  y[threadIdx.x] = (int)(__double_as_longlong(d) & 0);
}

// kernel union_as_double grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = x
extern "C" __global__ void union_as_double(const float *x, float *y) {
  Word w;
  w.f[0] = w.f[1] = x[threadIdx.x];
  double d = w.d;
  Word v;
  v.d = d;
  y[threadIdx.x] = v.f[1];
}

// Wrong: three floats read as four.
// kernel point_as_float4 grid 1 block 32
// finds invalid-access error out-of-bounds read of 16 bytes at `p`, 4 bytes past the end of local `p`
// in x float32 = np.arange(32)
// out y float32 = 3 * x
extern "C" __global__ void point_as_float4(const float *x, float *y) {
  int t = threadIdx.x;
  alignas(16) Point p = {x[t], x[t], x[t]};
  float4 v = *reinterpret_cast<float4 *>(&p);  // <- invalid-access
  y[t] = v.x + v.y + v.z;
}

// Wrong: the struct behind gets the last byte.
// kernel pixel_as_word grid 1 block 32
// finds invalid-access error out-of-bounds write of 4 bytes
// out y uint8 = np.full(32, 9)
extern "C" __global__ void pixel_as_word(unsigned char *y) {
  alignas(4) Pixel p;
  Pixel q = {9, 9, 9};
  *reinterpret_cast<unsigned *>(&p) = 0x030201;  // <- invalid-access
  y[threadIdx.x] = p.b * q.b / 3;
}

__device__ Point at(const float *x, int t) { return {x[t], x[t] + 1, x[t] + 2}; }

// Copies of structs of 3, 6, 12 and 24 bytes, structured bindings and vectors, side by side.
// kernel copies_side_by_side grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = 3 * x + 3 + 6 + 9 + 12
extern "C" __global__ void copies_side_by_side(const float *x, float *y) {
  int t = threadIdx.x;
  auto [a, b, c] = at(x, t);
  Pixel p = {1, 2, 3}, q = p;
  short3 s = make_short3(2, 3, 4), r = s;
  double3 d = make_double3(3, 4, 5), e = d;
  float2 f = make_float2(x[t], x[t] + 1);
  auto &[g, h] = f;
  h += g;
  y[t] = a + b + c + q.r + q.g + q.b + r.x + r.y + r.z + e.x + e.y + e.z + 0 * h;
}

// Not executed: the wide read is behind a condition that is false.
// kernel not_executed grid 1 block 32
// value n int32 = 4
// out y float32 = np.arange(32)
extern "C" __global__ void not_executed(int n, float *y) {
  alignas(16) float a[6];
  int t = threadIdx.x;
  for (int k = 0; k < 6; ++k) a[k] = t;
  float sum = a[5];
  if (n > 4) sum = reinterpret_cast<float4 *>(&a[4])->x;
  y[t] = sum;
}

__device__ __noinline__ float of_both(const float2 *v) { return v[0].x + v[1].y; }

// A variable whose address is passed on, too, and one that both ways of an access are to.
// kernel both_ways grid 1 block 32
// out y float32 = 2 * np.arange(32)
extern "C" __global__ void both_ways(float *y) {
  alignas(16) float a[4];
  alignas(16) float b[4];
  int t = threadIdx.x;
  *reinterpret_cast<float4 *>(a) = make_float4(t, 0, 0, t);
  *reinterpret_cast<float2 *>(b) = make_float2(t, 0);
  *reinterpret_cast<float2 *>(b + 2) = make_float2(0, t);
  y[t] = (of_both(reinterpret_cast<float2 *>(a)) + of_both(reinterpret_cast<float2 *>(b))) / 2;
}

// Wrong: the loop reads one element too many. What it reads there has no value, which is no error of its own.
// kernel one_too_many grid 1 block 32
// inout y int32 = np.zeros(32) -> _
// value n int32 = 6
// hints Write `<` instead of `<=` there. A run with that has no finding.
extern "C" __global__ void one_too_many(int *y, int n) {
  int h[6], sum = 0;
  for (int k = 0; k < 6; k++) h[k] = k + threadIdx.x;
  for (int k = 0; k <= n; k++) sum += h[k];  // <- invalid-access
  y[threadIdx.x] = sum;
}
