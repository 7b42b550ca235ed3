// Arrays, words over bytes and structs that are filled in part.
// kernel cast_char4 grid 1 block 32
// in x uint8 = np.arange(128)
// out y int32 = [sum(range(4 * t, 4 * t + 3)) for t in range(32)]
extern "C" __global__ void cast_char4(const unsigned char *x, int *y) {
  __shared__ unsigned char s[128];
  int t = threadIdx.x;
  for (int k = 0; k < 3; k++) s[4 * t + k] = x[4 * t + k];
  __syncthreads();
  unsigned w = *(const unsigned *)&s[4 * t];
  y[t] = (w & 255) + (w >> 8 & 255) + (w >> 16 & 255);
}
// kernel dp4a_part grid 1 block 32
// in x uint8 = np.arange(128)
// out y int32 = [sum(range(4 * t, 4 * t + 3)) for t in range(32)]
extern "C" __global__ void dp4a_part(const unsigned char *x, int *y) {
  __shared__ unsigned char s[128];
  int t = threadIdx.x;
  for (int k = 0; k < 3; k++) s[4 * t + k] = x[4 * t + k];
  __syncthreads();
  unsigned w = *(const unsigned *)&s[4 * t];
  y[t] = __dp4a(w & 0xffffffu, 0x01010101u, 0u);
}
// kernel load_then_guard grid 1 block 64
// value n int32 = 40
// in x float32 = np.arange(40)
// out y float32 = 2.0 * np.arange(40)
extern "C" __global__ void load_then_guard(int n, const float *x, float *y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  float v = s[t];
  if (t < n) y[t] = 2 * v;
}
// kernel float4_tail grid 1 block 32
// value n int32 = 126
// in x float32 = np.arange(128)
// out y float32 = [x for x in range(126)] + [0, 0]
extern "C" __global__ void float4_tail(int n, const float *x, float *y) {
  float4 v;
  int i = 4 * threadIdx.x;
  float *p = &v.x;
  for (int k = 0; k < 4; k++) if (i + k < n) p[k] = x[i + k];
  for (int k = 0; k < 4; k++) y[i + k] = i + k < n ? p[k] : 0;
}
// kernel local_matrix grid 1 block 32
// out y float32 = [6 * t for t in range(32)]
extern "C" __global__ void local_matrix(float *y) {
  float m[4][4];
  for (int i = 0; i < 4; i++) for (int j = 0; j <= i; j++) m[i][j] = i == j ? threadIdx.x * i : 0;
  float trace = 0;
  for (int i = 0; i < 4; i++) for (int j = 0; j <= i; j++) trace += m[i][j];
  y[threadIdx.x] = trace;
}
struct Big { float v[12]; int n; };
// kernel big_struct grid 1 block 32
// out y float32 = [3 * t for t in range(32)][::-1]
extern "C" __global__ void big_struct(float *y) {
  __shared__ Big s[32];
  int t = threadIdx.x;
  Big b;
  b.n = 3;
  for (int i = 0; i < b.n; i++) b.v[i] = t;
  s[t] = b;
  __syncthreads();
  Big c = s[31 - t];
  float sum = 0;
  for (int i = 0; i < c.n; i++) sum += c.v[i];
  y[t] = sum;
}
struct Base { virtual __device__ float get() const = 0; float pad; };
struct Own : Base { float v; __device__ Own(float x) : v(x) {} __device__ float get() const override { return v; } };
// kernel virtual_pad grid 1 block 32
// out y float32 = np.arange(32)
extern "C" __global__ void virtual_pad(float *y) {
  Own o(threadIdx.x);
  const Base *b = &o;
  y[threadIdx.x] = b->get();
}
// kernel stack_array grid 1 block 32
// out y int32 = [bin(t).count("1") for t in range(32)]
extern "C" __global__ void stack_array(int *y) {
  int stack[32], top = 0, count = 0;
  stack[top++] = threadIdx.x;
  while (top) { int v = stack[--top]; if (v == 0) continue; count += v & 1; stack[top++] = v >> 1; }
  y[threadIdx.x] = count;
}
// kernel heap_insert grid 1 block 32
// out y int32 = [5] * 32
extern "C" __global__ void heap_insert(int *y) {
  int best[3], n = 0;
  for (int i = 0; i < 6; i++) {
    int v = (i * 7) % 6, k = n < 3 ? n++ : 2;
    if (k == 2 && n == 3 && i > 2 && best[2] >= v) continue;
    while (k > 0 && best[k - 1] < v) { best[k] = best[k - 1]; k--; }
    best[k] = v;
  }
  y[threadIdx.x] = best[0];
}
