// Bits that were never set, merged by masks and shifts, and what of them is left in an output when the block ends.
struct Unrelated { char c; int n; };
union Halves { unsigned w; unsigned short h[2]; };

// Wrong: the fourth byte was never set.
// kernel packed_bytes grid 1 block 32
// finds uninitialized-read error `s[3]`
// out y uint32 = np.arange(32) * 0x10101
extern "C" __global__ void packed_bytes(unsigned *y) {
  __shared__ unsigned char s[128];
  int t = threadIdx.x;
  s[4 * t] = s[4 * t + 1] = s[4 * t + 2] = t;
  __syncthreads();
  y[t] = s[4 * t] | s[4 * t + 1] << 8 | s[4 * t + 2] << 16 | s[4 * t + 3] << 24;  // <- uninitialized-read
}

// kernel packed_three_bytes grid 1 block 32
// out y uint32 = np.arange(32) * 0x10101
extern "C" __global__ void packed_three_bytes(unsigned *y) {
  __shared__ unsigned char s[128];
  int t = threadIdx.x;
  s[4 * t] = s[4 * t + 1] = s[4 * t + 2] = t;
  __syncthreads();
  y[t] = (s[4 * t] | s[4 * t + 1] << 8 | s[4 * t + 2] << 16 | s[4 * t + 3] << 24) & 0xffffff;
}

// Wrong: half of the lanes have no byte to add.
// kernel masked_and_merged grid 1 block 32
// out y uint32 = np.arange(32)
extern "C" __global__ void masked_and_merged(unsigned *y) {
  __shared__ unsigned s[32];
  int t = threadIdx.x;
  if (t < 16) s[t] = t;
  __syncthreads();
  unsigned w = 0;
  w |= s[t] & 0xff;  // <- uninitialized-read
  y[t] = w;
}

// Wrong: of each word two bytes were set, and one is replaced.
// kernel one_of_four_left grid 1 block 32
// out y uint32 = np.arange(32)
extern "C" __global__ void one_of_four_left(unsigned *y) {
  __shared__ unsigned s[32];
  int t = threadIdx.x;
  unsigned char *b = reinterpret_cast<unsigned char *>(s);
  b[4 * t] = t;
  b[4 * t + 1] = 0;
  __syncthreads();
  y[t] = s[t] | 0x0f000000;  // <- uninitialized-read
}

// kernel none_of_four_left grid 1 block 32
// out y uint32 = np.arange(32) | 0xffff0000
extern "C" __global__ void none_of_four_left(unsigned *y) {
  __shared__ unsigned s[32];
  int t = threadIdx.x;
  unsigned char *b = reinterpret_cast<unsigned char *>(s);
  b[4 * t] = t;
  b[4 * t + 1] = 0;
  __syncthreads();
  y[t] = s[t] | 0xffff0000;
}

// Wrong: the high half was never set.
// kernel two_halves grid 1 block 32
// out y uint32 = np.arange(32)
extern "C" __global__ void two_halves(unsigned *y) {
  __shared__ unsigned short s[64];
  int t = threadIdx.x;
  s[2 * t] = t;
  __syncthreads();
  unsigned low = s[2 * t], high = s[2 * t + 1];  // <- uninitialized-read
  y[t] = high << 16 | low;
}

// What is stored first is not what the block leaves.
// kernel two_halves_again grid 1 block 32
// out y uint32 = np.arange(32) | 4 << 16
extern "C" __global__ void two_halves_again(unsigned *y) {
  __shared__ unsigned short s[64];
  int t = threadIdx.x;
  s[2 * t] = t;
  __syncthreads();
  y[t] = s[2 * t] | s[2 * t + 1] << 16;
  s[2 * t + 1] = 4;
  y[t] = s[2 * t] | s[2 * t + 1] << 16;
}

// Wrong: the fourth component.
// kernel vector_as_word grid 1 block 32
// finds uninitialized-read error `v.w`
// out y uint32 = np.arange(32)
extern "C" __global__ void vector_as_word(unsigned *y) {
  uchar4 v;
  v.x = threadIdx.x;
  v.y = v.z = 0;
  y[threadIdx.x] = *reinterpret_cast<unsigned *>(&v);  // <- uninitialized-read
}

// Wrong: one half of a union.
// kernel half_of_a_union grid 1 block 32
// out y uint32 = np.arange(32)
extern "C" __global__ void half_of_a_union(unsigned *y) {
  Halves u;
  u.h[0] = threadIdx.x;
  y[threadIdx.x] = u.w;  // <- uninitialized-read
}

// kernel both_of_a_union grid 1 block 32
// out y uint32 = np.arange(32) | 3 << 16
extern "C" __global__ void both_of_a_union(unsigned *y) {
  Halves u;
  u.h[0] = threadIdx.x;
  u.h[1] = 3;
  y[threadIdx.x] = u.w;
}

// Scratch that is no output may keep what it has.
// kernel scratch grid 1 block 32
// in work uint32 = np.zeros(32)
// out y uint32 = np.arange(32)
extern "C" __global__ void scratch(unsigned *work, unsigned *y) {
  __shared__ unsigned short s[64];
  int t = threadIdx.x;
  s[2 * t] = t;
  __syncthreads();
  work[t] = s[2 * t] | s[2 * t + 1] << 16;
  y[t] = work[t] & 0xffff;
}

// Bytes are packed a loop's round at a time.
// kernel packed_in_rounds grid 2 block 32
// out y uint32 = np.arange(64) * 0x1010101
extern "C" __global__ void packed_in_rounds(unsigned *y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char *bytes = reinterpret_cast<unsigned char *>(y + i);
  for (int k = 0; k < 4; ++k) bytes[k] = i;
}

struct alignas(16) Packed { float v[4]; };
__device__ void put(float *p, Packed v) { *reinterpret_cast<Packed *>(p) = v; }

// Wrong: the last component of a vector that is copied to an output of floats.
// kernel vector_to_output grid 1 block 8
// in x float32 = np.arange(32)
// out y float32 = 2 * x
extern "C" __global__ void vector_to_output(const float *x, float *y) {
  int t = threadIdx.x;
  float4 a = reinterpret_cast<const float4 *>(x)[t], o;
  o.x = 2 * a.x;
  o.y = 2 * a.y;
  o.z = 2 * a.z;
  reinterpret_cast<float4 *>(y)[t] = o;  // <- uninitialized-read
}

// The component is stored behind it.
// kernel vector_and_component grid 1 block 8
// in x float32 = np.arange(32)
// out y float32 = 2 * x
extern "C" __global__ void vector_and_component(const float *x, float *y) {
  int t = threadIdx.x;
  float4 a = reinterpret_cast<const float4 *>(x)[t], o;
  o.x = 2 * a.x;
  o.y = 2 * a.y;
  o.z = 2 * a.z;
  reinterpret_cast<float4 *>(y)[t] = o;
  y[4 * t + 3] = 2 * a.w;
}

// Wrong: the loop ends one element early.
// kernel packed_to_output grid 1 block 8
// finds uninitialized-read error v[3]
// in x float32 = np.arange(32)
// out y float32 = 2 * x
extern "C" __global__ void packed_to_output(const float *x, float *y) {
  Packed a = reinterpret_cast<const Packed *>(x)[threadIdx.x], o;
  for (int i = 0; i < 3; ++i) o.v[i] = 2 * a.v[i];
  put(y + 4 * threadIdx.x, o);
}

// kernel pixels_as_words grid 1 block 32
// out y uint32 = [sum((4 * t + j) // 3 + (4 * t + j) % 3 << 8 * j for j in range(4)) for t in range(32)]
extern "C" __global__ void pixels_as_words(unsigned *y) {
  __shared__ uchar3 pixels[44];
  int t = threadIdx.x;
  for (int i = t; i < 43; i += 32) pixels[i] = make_uchar3(i, i + 1, i + 2);
  __syncthreads();
  const unsigned char *b = (const unsigned char *)pixels;
  unsigned w = 0;
  for (int j = 0; j < 4; ++j) w |= (unsigned)b[4 * t + j] << (8 * j);
  y[t] = w;
}

// Wrong: the last word ends in a pixel that was never set.
// kernel pixels_unset grid 1 block 33
// out y uint32 = np.zeros(33)
extern "C" __global__ void pixels_unset(unsigned *y) {
  __shared__ uchar3 pixels[44];
  int t = threadIdx.x;
  if (t < 33) pixels[t] = uchar3{(unsigned char)t, 1, 2};
  if (t < 10) pixels[t + 33] = uchar3{(unsigned char)t, 1, 2};
  __syncthreads();
  const unsigned char *b = (const unsigned char *)pixels;
  unsigned w = 0;
  for (int j = 0; j < 4; ++j) w |= (unsigned)b[4 * t + j] << (8 * j);  // <- uninitialized-read
  y[t] = w;
}

// Wrong: eight halves are stored at a time, and one was forgotten.
// kernel eight_halves grid 1 block 16
// out y float16 = np.zeros(128)
extern "C" __global__ void eight_halves(unsigned short *y) {
  union { int4 v; unsigned short h[8]; } o;
  for (int i = 0; i < 7; ++i) o.h[i] = 0;
  reinterpret_cast<int4 *>(y)[threadIdx.x] = o.v;  // <- uninitialized-read
}

// kernel quantized grid 1 block 32
// in x int32 = np.arange(128)
// out y int8 = x >> 1
extern "C" __global__ void quantized(const int *x, signed char *y) {
  alignas(4) signed char q[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) q[i] = x[4 * threadIdx.x + i] >> 1;
  reinterpret_cast<int *>(y)[threadIdx.x] = *reinterpret_cast<int *>(q);
}

// Wrong: three of four.
// kernel quantized_in_part grid 1 block 32
// finds uninitialized-read error `q[3]`
// in x int32 = np.arange(128)
// out y int8 = x >> 1
extern "C" __global__ void quantized_in_part(const int *x, signed char *y) {
  alignas(4) signed char q[4];
#pragma unroll
  for (int i = 0; i < 3; ++i) q[i] = x[4 * threadIdx.x + i] >> 1;
  reinterpret_cast<int *>(y)[threadIdx.x] = *reinterpret_cast<int *>(q);  // <- uninitialized-read
}

// kernel halo grid 1 block 32
// in x float32 = np.ones(32)
// out y float32 = [v for t in range(32) for v in (t >= 8, t < 24, t % 8 > 0, t % 8 < 7)]
extern "C" __global__ void halo(const float *x, float *y) {
  __shared__ float s[6][10];
  int t = threadIdx.x, r = t / 8 + 1, c = t % 8 + 1;
  s[r][c] = x[t];
  if (r == 1) s[0][c] = 0;
  if (r == 4) s[5][c] = 0;
  if (c == 1) s[r][0] = 0;
  if (c == 8) s[r][9] = 0;
  __syncthreads();
  reinterpret_cast<float4 *>(y)[t] = make_float4(s[r - 1][c], s[r + 1][c], s[r][c - 1], s[r][c + 1]);
}

// Wrong: the corners were not set.
// kernel halo_corner grid 1 block 32
// in x float32 = np.ones(32)
// out y float32 = np.ones(128)
extern "C" __global__ void halo_corner(const float *x, float *y) {
  __shared__ float s[6][10];
  int t = threadIdx.x, r = t / 8 + 1, c = t % 8 + 1;
  s[r][c] = x[t];
  if (r == 1) s[0][c] = 0;
  if (r == 4) s[5][c] = 0;
  if (c == 1) s[r][0] = 0;
  if (c == 8) s[r][9] = 0;
  __syncthreads();
  float4 v;
  v.x = s[r - 1][c - 1];  // <- uninitialized-read
  v.y = s[r + 1][c];
  v.z = s[r][c - 1];
  v.w = s[r][c + 1];
  reinterpret_cast<float4 *>(y)[t] = v;  // <- uninitialized-read
}

// Another kernel of the file has a type with padding.
// kernel unrelated grid 1 block 32
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void unrelated(Unrelated *y) { y[threadIdx.x] = Unrelated{1, 2}; }

// Reads that race, of elements that other threads write later, and of some that none writes.

// kernel neighbors_behind_a_race grid 4 block 32
// out means float32 = np.zeros(128)
// out rises float32 = np.zeros(128)
// finds race error hazard on global `means[
// finds uninitialized-read error read of global `means[127]`, which no thread has written
extern "C" __global__ void neighbors_behind_a_race(float *means, float *rises) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < 127) means[i] = .5f * i;  // <- race
  rises[i] = means[i < 127 ? i + 1 : i] - .5f * i;  // <- uninitialized-read
}

// kernel neighbors_behind_a_race_counted grid 2 block 64
// inout count int32 = [0] -> _
// out ranks int32 = np.zeros(128)
// out next int32 = np.zeros(128)
// finds race error hazard on global `ranks[
// finds uninitialized-read error which no thread has written
extern "C" __global__ void neighbors_behind_a_race_counted(int *count, int *ranks, int *next) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i % 3) ranks[i] = atomicAdd(count, i);  // <- race
  next[i] = ranks[(i + 64) % 128] + ranks[i ^ 1];  // <- uninitialized-read
}

// kernel neighbors_all_written_later grid 4 block 32
// out means float32 = np.zeros(128)
// out rises float32 = np.zeros(128)
extern "C" __global__ void neighbors_all_written_later(float *means, float *rises) {
  int i = blockIdx.x * 32 + threadIdx.x;
  means[i] = .5f * i;  // <- race
  rises[i] = means[127 - i] - .5f * i;  // <- race
}
