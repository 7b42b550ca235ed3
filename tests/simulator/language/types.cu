// Types: wide integers, double, half, bfloat16, vectors, structs, local arrays.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

// kernel wide grid 1 block 8
// in x uint64 = rng.integers(0, 2**62, 8, dtype="u8")
// in z uint64 = rng.integers(1, 2**40, 8, dtype="u8")
// out y uint64 = np.concatenate([x * z, x // z, x % z, np.array([int(a) * int(b) >> 64 for a, b in zip(x, z)], "u8"), x << (z % np.uint64(64)), np.array([int(a).bit_count() for a in x], "u8")])
extern "C" __global__ void wide(const unsigned long long *x, const unsigned long long *z, unsigned long long *y) {
  int t = threadIdx.x;
  unsigned long long a = x[t], b = z[t];
  y[t] = a * b; y[8 + t] = a / b; y[16 + t] = a % b; y[24 + t] = __umul64hi(a, b);
  y[32 + t] = a << (b % 64); y[40 + t] = __popcll(a);
}

// kernel int128 grid 1 block 8
// in x int64 = rng.integers(-2**62, 2**62, 8)
// out y int64 = np.array([(int(a) * 12345678901234567 >> 40) % 2**64 for a in x] + [abs(int(a) * 98765432109876543) // 1000003 % 2**63 for a in x], "u8").view("i8")
extern "C" __global__ void int128(const long long *x, long long *y) {
  __int128 v = (__int128)x[threadIdx.x] * 12345678901234567ll;
  y[threadIdx.x] = (long long)(v >> 40);
  __int128 w = (__int128)x[threadIdx.x] * 98765432109876543ll;
  if (w < 0) w = -w;
  y[8 + threadIdx.x] = (long long)(w / 1000003) & 0x7fffffffffffffffll;
}

// kernel doubles grid 1 block 16 tol 1e-14
// in x float64 = rng.random(16) * 5 + 0.1
// out y float64 = np.concatenate([np.sqrt(x), np.exp(-x), np.sin(x), np.log(x), x ** 2.5, 1 / x])
extern "C" __global__ void doubles(const double *x, double *y) {
  int t = threadIdx.x;
  double v = x[t];
  y[t] = sqrt(v); y[16 + t] = exp(-v); y[32 + t] = sin(v); y[48 + t] = log(v); y[64 + t] = pow(v, 2.5); y[80 + t] = 1 / v;
}

// kernel floats grid 1 block 16 tol 2e-6
// in x float32 = rng.random(16) * 5 + 0.1
// out y float32 = np.concatenate([np.sqrt(x), np.exp(-x), np.sin(x), np.log(x), x ** 2.5, 1 / x, np.tanh(x), np.floor(x), 1 / np.sqrt(x), np.fmod(x, 1.5)])
extern "C" __global__ void floats(const float *x, float *y) {
  int t = threadIdx.x;
  float v = x[t];
  y[t] = sqrtf(v); y[16 + t] = expf(-v); y[32 + t] = sinf(v); y[48 + t] = logf(v); y[64 + t] = powf(v, 2.5f);
  y[80 + t] = 1 / v; y[96 + t] = tanhf(v); y[112 + t] = floorf(v); y[128 + t] = rsqrtf(v); y[144 + t] = fmodf(v, 1.5f);
}

// kernel halves grid 1 block 16
// in x float16 = rng.random(16) * 4
// in z float16 = rng.random(16) + 0.5
// out y float16 = np.concatenate([x + z, x * z, x - z, np.maximum(x, z), np.where(x > z, x, z), (x.astype("f4") / z.astype("f4"))])
extern "C" __global__ void halves(const __half *x, const __half *z, __half *y) {
  int t = threadIdx.x;
  __half a = x[t], b = z[t];
  y[t] = a + b; y[16 + t] = __hmul(a, b); y[32 + t] = a - b; y[48 + t] = __hmax(a, b);
  y[64 + t] = a > b ? a : b; y[80 + t] = __float2half(__half2float(a) / __half2float(b));
}

// kernel half_pairs grid 1 block 8
// in x float16 = rng.integers(0, 64, 16)
// out y float16 = x * 2 + 1
extern "C" __global__ void half_pairs(const __half2 *x, __half2 *y) {
  y[threadIdx.x] = __hfma2(x[threadIdx.x], __float2half2_rn(2.0f), __float2half2_rn(1.0f));
}

// kernel brains grid 1 block 16
// in x float32 = rng.integers(0, 16, 16)
// out y float32 = x * 3 + 2
extern "C" __global__ void brains(const float *x, float *y) {
  __nv_bfloat16 a = __float2bfloat16(x[threadIdx.x]), b = __float2bfloat16(3.0f), c = __float2bfloat16(2.0f);
  y[threadIdx.x] = __bfloat162float(__hfma(a, b, c));
}

// kernel vectors grid 1 block 8
// in x float32 = np.arange(16)
// in c uint8 = np.arange(32)
// in i int16 = np.arange(32)
// out y float32 = np.concatenate([x.reshape(8, 2).sum(1), c.reshape(8, 4).sum(1), i.reshape(8, 4)[:, 2] * 2])
extern "C" __global__ void vectors(const float2 *x, const uchar4 *c, const short4 *i, float *y) {
  int t = threadIdx.x;
  float2 v = x[t];
  uchar4 u = c[t];
  short4 s = i[t];
  y[t] = v.x + v.y; y[8 + t] = u.x + u.y + u.z + u.w; y[16 + t] = s.z * 2;
}

// kernel local_array grid 1 block 32
// in x int32 = rng.integers(0, 8, 32)
// out y int32 = (x * 10 + np.arange(32)) * 2
extern "C" __global__ void local_array(const int *x, int *y) {
  int table[8], t = threadIdx.x;
  for (int k = 0; k < 8; k++) table[k] = 10 * k + t;
  int *p = &table[x[t]];
  *p *= 2;
  y[t] = table[x[t]];
}

// kernel bits grid 1 block 16
// in x uint32 = rng.integers(1, 2**32, 16, dtype="u4")
// out y uint32 = np.concatenate([[int(v).bit_count() for v in x], [32 - int(v).bit_length() for v in x], [int(f"{v:032b}"[::-1], 2) for v in x], [(int(v) & -int(v)).bit_length() for v in x], [int.from_bytes(int(v).to_bytes(4, "little"), "big") for v in x], [(int(v) << 8 | int(v) >> 24) & 0xffffffff for v in x]])
extern "C" __global__ void bits(const unsigned *x, unsigned *y) {
  int t = threadIdx.x;
  unsigned v = x[t];
  y[t] = __popc(v); y[16 + t] = __clz(v); y[32 + t] = __brev(v); y[48 + t] = __ffs(v);
  y[64 + t] = __byte_perm(v, 0, 0x0123); y[80 + t] = __funnelshift_l(v, v, 8);
}
