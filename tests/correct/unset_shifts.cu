// Shifts by a variable of words that were set in part: a bit that was not set counts where it is used.
union Word { unsigned w; unsigned short h[2]; unsigned char b[4]; };

// kernel nibbles grid 1 block 32
// out y int32 = [sum(t >> 4 * i & 15 for i in range(4)) for t in range(31, -1, -1)]
extern "C" __global__ void nibbles(int *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].h[0] = t;
  __syncthreads();
  unsigned w = s[31 - t].w;
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += w >> 4 * i & 15;
  y[t] = sum;
}

// Wrong: the fifth nibble.
// kernel five_nibbles grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void five_nibbles(int *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].h[0] = t;
  __syncthreads();
  unsigned w = s[31 - t].w;  // <- uninitialized-read
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += w >> 4 * i & 15;
  y[t] = sum;
}

// kernel byte_of_local grid 1 block 32
// out y int32 = np.arange(32) % 4 + 5
extern "C" __global__ void byte_of_local(int *y) {
  Word u;
  int t = threadIdx.x;
  for (int i = 0; i <= t % 4; ++i) u.b[i] = i + 5;
  y[t] = u.w >> 8 * (t % 4) & 255;
}

// Wrong: the next byte.
// kernel next_byte_of_local grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void next_byte_of_local(int *y) {
  Word u;
  int t = threadIdx.x % 3;
  for (int i = 0; i <= t; ++i) u.b[i] = i + 5;
  y[threadIdx.x] = u.w >> 8 * (t + 1) & 255;  // <- uninitialized-read
}

// The bits that were not set are shifted out.
// kernel shifted_out grid 1 block 32
// value n int32 = 16
// out y uint32 = np.arange(32) << 16
extern "C" __global__ void shifted_out(int n, unsigned *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].h[0] = t;
  __syncthreads();
  y[t] = s[t].w << n;
}

// Wrong: eight of them are left.
// kernel not_shifted_out grid 1 block 32
// value n int32 = 8
// out y uint32 = np.arange(32) << 16
extern "C" __global__ void not_shifted_out(int n, unsigned *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].h[0] = t;
  __syncthreads();
  y[t] = s[t].w << n;  // <- uninitialized-read
}

// Wrong: a branch on a bit that was not set.
// kernel branch_on_bit grid 1 block 32
// value n int32 = 20
// out y int32 = np.zeros(32)
extern "C" __global__ void branch_on_bit(int n, int *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].h[0] = t;
  __syncthreads();
  y[t] = 0;
  if (s[31 - t].w >> n & 1) y[t] = 1;  // <- uninitialized-read
}

// Wrong: a digit of a key that was not set, as an address.
// kernel digit_of_key grid 1 block 32
// value n int32 = 4
// out y int32 = np.zeros(32)
extern "C" __global__ void digit_of_key(int n, int *y) {
  __shared__ unsigned key[32];
  __shared__ int bins[32];
  int t = threadIdx.x;
  bins[t] = 0;
  if (t < 16) key[t] = t << 4;
  __syncthreads();
  atomicAdd(&bins[key[t] >> n & 15], 1);  // <- uninitialized-read
  __syncthreads();
  y[t] = bins[t];
}

// Wrong: the number of bits was not set.
// kernel unset_amount grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void unset_amount(int *y) {
  __shared__ int n[32];
  int t = threadIdx.x;
  if (t < 16) n[t] = t;
  __syncthreads();
  y[t] = 1 << n[t];  // <- uninitialized-read
}

// Wrong: so was the word, in a register.
// kernel unset_register grid 1 block 32
// value n int32 = 4
// out y uint32 = np.zeros(32)
extern "C" __global__ void unset_register(int n, unsigned *y) {
  unsigned w;
  if (n > 4) w = n;
  y[threadIdx.x] = w >> n & 1;  // <- uninitialized-read
}

// A sign is extended from a bit that was set. 64 bits.
// kernel signed_wide grid 1 block 32
// value n int32 = 32
// out y int32 = -np.arange(32)
extern "C" __global__ void signed_wide(int n, int *y) {
  union { long long w; int h[2]; } u;
  u.h[1] = -(int)threadIdx.x;
  y[threadIdx.x] = (int)(u.w >> n);
}

// Wrong: one bit less.
// kernel signed_wide_short grid 1 block 32
// value n int32 = 31
// out y int32 = np.zeros(32)
extern "C" __global__ void signed_wide_short(int n, int *y) {
  union { long long w; int h[2]; } u;
  u.h[1] = -(int)threadIdx.x;
  y[threadIdx.x] = (int)(u.w >> n);  // <- uninitialized-read
}

// kernel set_bits grid 1 block 32
// out y int32 = np.arange(32) % 3
extern "C" __global__ void set_bits(int *y) {
  __shared__ unsigned bits[2];
  int t = threadIdx.x;
  if (t < 2) bits[t] = 0;
  __syncthreads();
  atomicOr(&bits[t % 3 / 2], (unsigned)(t % 3 != 0) << t);
  __syncthreads();
  y[t] = bits[t % 3 / 2] >> t & 1 ? t % 3 : 0;
}

// The last word has two bytes that no thread sets, and that the shift drops.
// kernel bytes_shifted_out grid 1 block 32
// finds uninitialized-read warning which no thread has written; no output depends on its value
// in x uint16 = np.arange(65)
// inout y uint32 = np.zeros(32) -> x[1::2] | x[2::2].astype(np.uint32) << 16
extern "C" __global__ void bytes_shifted_out(const unsigned short *x, unsigned *y) {
  __shared__ unsigned w[33];
  unsigned short *s = reinterpret_cast<unsigned short *>(w);
  int t = threadIdx.x;
  for (int k = t; k < 65; k += 32) s[k] = x[k];
  __syncwarp();
  y[t] = __funnelshift_r(w[t], w[t + 1], 16);  // <- uninitialized-read
}

// Wrong: it drops one bit less.
// kernel bit_shifted_in grid 1 block 32
// finds uninitialized-read error which no thread has written
// in x uint16 = np.arange(65)
// inout y uint32 = np.zeros(32) -> _
extern "C" __global__ void bit_shifted_in(const unsigned short *x, unsigned *y) {
  __shared__ unsigned w[33];
  unsigned short *s = reinterpret_cast<unsigned short *>(w);
  int t = threadIdx.x;
  for (int k = t; k < 65; k += 32) s[k] = x[k];
  __syncwarp();
  y[t] = __funnelshift_r(w[t], w[t + 1], 17);  // <- uninitialized-read
}
