// Tensor cores: wmma, mma.sync, ldmatrix, stmatrix and movmatrix. All sums are exact but for one, of doubles.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;

#define WMMA(NAME, M, N, K, T, ELEMENT, LA, LB, TC, LC)                                      \
  extern "C" __global__ void NAME(const ELEMENT *a, const ELEMENT *b, const TC *c, TC *d) {  \
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::LA> fa;                                 \
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::LB> fb;                                 \
    wmma::fragment<wmma::accumulator, M, N, K, TC> fc;                                       \
    bool ra = #LA[0] == 'r', rb = #LB[0] == 'r', rc = #LC[4] == 'r';     \
    wmma::load_matrix_sync(fa, a, ra ? K : M);                                               \
    wmma::load_matrix_sync(fb, b, rb ? N : K);                                               \
    wmma::load_matrix_sync(fc, c, rc ? N : M, wmma::LC);                                     \
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];                   \
    wmma::mma_sync(fc, fa, fb, fc);                                                          \
    wmma::store_matrix_sync(d, fc, rc ? N : M, wmma::LC);                                    \
  }

// kernel half_rows grid 1 block 32
// in a float16 = rng.integers(-9, 9, (16, 16))
// in b float16 = rng.integers(-9, 9, (16, 16))
// in c float32 = rng.integers(-9, 9, (16, 16))
// out d float32 = a.astype(float) @ b + 2 * c
WMMA(half_rows, 16, 16, 16, half, half, row_major, row_major, float, mem_row_major)

// kernel half_columns grid 1 block 32
// in a float16 = rng.integers(-9, 9, (16, 16))
// in b float16 = rng.integers(-5, 5, (16, 16))
// in c float32 = rng.integers(-9, 9, (16, 16))
// out d float32 = (a.T.astype(float) @ b.T + 2 * c.T).T
WMMA(half_columns, 16, 16, 16, half, half, col_major, col_major, float, mem_col_major)

// kernel half_tall grid 1 block 32
// in a float16 = rng.integers(-9, 9, (32, 16))
// in b float16 = rng.integers(-9, 9, (8, 16))
// in c float16 = rng.integers(-9, 9, (32, 8))
// out d float16 = a.astype(float) @ b.T + 2 * c
WMMA(half_tall, 32, 8, 16, half, half, row_major, col_major, half, mem_row_major)

// kernel half_wide grid 1 block 32
// in a float16 = rng.integers(-9, 9, (16, 8))
// in b float16 = rng.integers(-9, 9, (16, 32))
// in c float16 = rng.integers(-9, 9, (32, 8))
// out d float16 = (a.T.astype(float) @ b + 2 * c.T).T
WMMA(half_wide, 8, 32, 16, half, half, col_major, row_major, half, mem_col_major)

// kernel brain grid 1 block 32
// in a uint16 = rng.integers(-8, 8, (16, 16)).astype(np.float32).view(np.uint32) >> 16
// in b uint16 = rng.integers(-8, 8, (16, 16)).astype(np.float32).view(np.uint32) >> 16
// in c float32 = rng.integers(-9, 9, (16, 16))
// out d float32 = (a.astype(np.uint32) << 16).view(np.float32) @ (b.astype(np.uint32) << 16).view(np.float32).T + 2 * c
WMMA(brain, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, row_major, col_major, float, mem_row_major)

// kernel bytes grid 1 block 32
// in a int8 = rng.integers(-128, 128, (16, 16))
// in b int8 = rng.integers(-128, 128, (16, 16))
// in c int32 = rng.integers(-9999, 9999, (16, 16))
// out d int32 = a.astype(int) @ b.T.astype(int) + 2 * c
WMMA(bytes, 16, 16, 16, signed char, signed char, row_major, col_major, int, mem_row_major)

// kernel unsigned_bytes grid 1 block 32
// in a uint8 = rng.integers(0, 256, (16, 8))
// in b uint8 = rng.integers(0, 256, (16, 32))
// in c int32 = rng.integers(-9999, 9999, (8, 32))
// out d int32 = a.T.astype(int) @ b.astype(int) + 2 * c
WMMA(unsigned_bytes, 8, 32, 16, unsigned char, unsigned char, col_major, row_major, int, mem_row_major)

// kernel tensor_floats grid 1 block 32
// in a float32 = rng.integers(-999, 999, (16, 8))
// in b float32 = rng.integers(-999, 999, (8, 16))
// in c float32 = rng.integers(-9, 9, (16, 16))
// out d float32 = a.astype(float) @ b + 2 * c
WMMA(tensor_floats, 16, 16, 8, wmma::precision::tf32, float, row_major, row_major, float, mem_row_major)

// kernel doubles grid 1 block 32
// in a float64 = rng.integers(-2**20, 2**20, (8, 4)) / 2**9
// in b float64 = rng.integers(-2**20, 2**20, (8, 4)) / 2**5
// in c float64 = rng.integers(-9, 9, (8, 8)) / 2**14
// out d float64 = a @ b.T + 2 * c
WMMA(doubles, 8, 8, 4, double, double, row_major, col_major, double, mem_row_major)

// kernel double_columns grid 1 block 32
// in a float64 = rng.integers(-999, 999, (4, 8))
// in b float64 = rng.integers(-999, 999, (4, 8))
// in c float64 = rng.integers(-9, 9, (8, 8))
// out d float64 = (a.T @ b + 2 * c.T).T
WMMA(double_columns, 8, 8, 4, double, double, col_major, row_major, double, mem_col_major)

// What tf32 cuts off, with and without the conversion.
// kernel cut_off grid 1 block 32
// in x float32 = 1 + np.arange(128) * 2.0**-13
// out d float32 = np.tile(np.eye(16)[:, :8] @ (np.floor(np.abs((1 + np.arange(128) * 2.0**-13) * 2.0**10) + 0.5) * 2.0**-10).reshape(8, 16), 1)
// out e float32 = np.eye(16)[:, :8] @ (np.floor((1 + np.arange(128) * 2.0**-13) * 2.0**10) * 2.0**-10).reshape(8, 16)
extern "C" __global__ void cut_off(const float *x, float *d, float *e) {
  __shared__ float one[128];
  for (int k = threadIdx.x; k < 128; k += 32) one[k] = k / 8 == k % 8;
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::load_matrix_sync(fa, one, 8);
  for (int round = 0; round < 2; round++) {
    wmma::load_matrix_sync(fb, x, 16);
    if (round == 0)
      for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    wmma::fill_fragment(fc, 0.0f);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(round ? e : d, fc, 16, wmma::mem_row_major);
  }
}

// A product of tiles in shared memory, padded, by four warps.
// kernel tiled grid 2 block 128
// in a float16 = rng.integers(-4, 4, (64, 48))
// in b float16 = rng.integers(-4, 4, (48, 32))
// out c float32 = a.astype(float) @ b
extern "C" __global__ void tiled(const half *a, const half *b, float *c) {
  __shared__ half as[32][16 + 8], bs[16][32 + 8];
  int warp = threadIdx.x / 32, row = blockIdx.x * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < 48; k += 16) {
    for (int i = threadIdx.x; i < 512; i += 128) {
      as[i / 16][i % 16] = a[(row + i / 16) * 48 + k + i % 16];
      bs[i / 32][i % 32] = b[(k + i / 32) * 32 + i % 32];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, &as[warp / 2 * 16][0], 24);
    wmma::load_matrix_sync(fb, &bs[0][warp % 2 * 16], 40);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(c + (row + warp / 2 * 16) * 32 + warp % 2 * 16, sum, 32, wmma::mem_row_major);
}

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// The registers of mma.sync as the PTX manual lays them out, from ldmatrix; the result through stmatrix.
// kernel loaded grid 1 block 32
// in a float16 = rng.integers(-9, 9, (16, 16))
// in b float16 = rng.integers(-9, 9, (16, 8))
// out d float16 = a.astype(float) @ b
extern "C" __global__ void loaded(const half *a, const half *b, half *d) {
  __shared__ __align__(16) half as[16][16], bs[16][8], ds[16][8];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) as[i / 16][i % 16] = a[i];
  for (int i = t; i < 128; i += 32) bs[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned a0, a1, a2, a3, b0, b1, d0, d1, zero = 0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(shared_address(&as[t % 16][t / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b0), "=r"(b1) : "r"(shared_address(&bs[t % 16][0])));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
               : "=r"(d0), "=r"(d1) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(zero));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               : : "r"(shared_address(&ds[t % 16][0])), "r"(d0), "r"(d1) : "memory");
  __syncwarp();
  for (int i = t; i < 128; i += 32) d[i] = ds[i / 8][i % 8];
}

// kernel transposed grid 1 block 32
// in a uint16 = np.arange(64)
// out d uint16 = np.arange(64).reshape(8, 8).T
// out e uint16 = np.arange(64).reshape(8, 8).T
// out f uint16 = np.arange(64).reshape(8, 8).T
extern "C" __global__ void transposed(const uint16_t *a, uint16_t *d, uint16_t *e, uint16_t *f) {
  __shared__ __align__(16) uint16_t s[64], out[64];
  int t = threadIdx.x;
  unsigned x, y, z, pair = a[2 * t] | a[2 * t + 1] << 16;
  s[2 * t] = a[2 * t];
  s[2 * t + 1] = a[2 * t + 1];
  __syncwarp();
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(x) : "r"(shared_address(&s[t % 8 * 8])));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(pair));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(z) : "r"(shared_address(&s[t % 8 * 8])));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               : : "r"(shared_address(&out[t % 8 * 8])), "r"(z) : "memory");
  __syncwarp();
  d[2 * t] = x; d[2 * t + 1] = x >> 16;
  e[2 * t] = y; e[2 * t + 1] = y >> 16;
  f[2 * t] = out[2 * t]; f[2 * t + 1] = out[2 * t + 1];
}

// The other shapes and types: the registers are filled as the manual says.
#define FLOAT_MMA(NAME, K, TYPE, ELEMENT, EACH, LEFT, RIGHT, ...)                                \
  extern "C" __global__ void NAME(const ELEMENT *a, const ELEMENT *b, const float *c, float *d) { \
    int g = threadIdx.x / 4, t = threadIdx.x % 4;                                                \
    union { uint32_t r[4]; ELEMENT e[4 * EACH]; } fa;                                            \
    union { uint32_t r[2]; ELEMENT e[2 * EACH]; } fb;                                            \
    for (int i = 0; i < K / 4 * 2; i++) {                                                        \
      int reg = i / EACH, col = reg / 2 * 4 * EACH + t * EACH + i % EACH;                        \
      fa.e[i] = a[(g + reg % 2 * 8) * K + col];                                                  \
    }                                                                                            \
    for (int i = 0; i < K / 4; i++) fb.e[i] = b[(i / EACH * 4 * EACH + t * EACH + i % EACH) * 8 + g]; \
    float x[4];                                                                                  \
    for (int i = 0; i < 4; i++) x[i] = c[(g + i / 2 * 8) * 8 + t * 2 + i % 2];                   \
    asm volatile("mma.sync.aligned.m16n8k" #K ".row.col.f32." TYPE "." TYPE ".f32 "              \
                 "{%0, %1, %2, %3}, " LEFT ", " RIGHT ", {%0, %1, %2, %3};"                      \
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : __VA_ARGS__);                \
    for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = x[i];                   \
  }
#define FOUR "r"(fa.r[0]), "r"(fa.r[1]), "r"(fa.r[2]), "r"(fa.r[3]), "r"(fb.r[0]), "r"(fb.r[1])
#define TWO "r"(fa.r[0]), "r"(fa.r[1]), "r"(fb.r[0])

// kernel halves_16 grid 1 block 32
// in a float16 = rng.integers(-9, 9, (16, 16))
// in b float16 = rng.integers(-9, 9, (16, 8))
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = a.astype(float) @ b + c
FLOAT_MMA(halves_16, 16, "f16", half, 2, "{%4, %5, %6, %7}", "{%8, %9}", FOUR)

// kernel halves_8 grid 1 block 32
// in a float16 = rng.integers(-9, 9, (16, 8))
// in b float16 = rng.integers(-9, 9, (8, 8))
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = a.astype(float) @ b + c
FLOAT_MMA(halves_8, 8, "f16", half, 2, "{%4, %5}", "{%6}", TWO)

// kernel brains_16 grid 1 block 32
// in a uint16 = rng.integers(-8, 8, (16, 16)).astype(np.float32).view(np.uint32) >> 16
// in b uint16 = rng.integers(-8, 8, (16, 8)).astype(np.float32).view(np.uint32) >> 16
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = (a.astype(np.uint32) << 16).view(np.float32) @ (b.astype(np.uint32) << 16).view(np.float32) + c
FLOAT_MMA(brains_16, 16, "bf16", uint16_t, 2, "{%4, %5, %6, %7}", "{%8, %9}", FOUR)

// kernel tensor_floats_8 grid 1 block 32
// in a float32 = rng.integers(-999, 999, (16, 8))
// in b float32 = rng.integers(-999, 999, (8, 8))
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = a.astype(float) @ b + c
FLOAT_MMA(tensor_floats_8, 8, "tf32", float, 1, "{%4, %5, %6, %7}", "{%8, %9}", FOUR)

// kernel tensor_floats_4 grid 1 block 32
// in a float32 = rng.integers(-999, 999, (16, 4))
// in b float32 = rng.integers(-999, 999, (4, 8))
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = a.astype(float) @ b + c
FLOAT_MMA(tensor_floats_4, 4, "tf32", float, 1, "{%4, %5}", "{%6}", TWO)

#define WHOLE_MMA(NAME, K, TA, TB, A, B, SATURATED, LEFT, RIGHT, ...)                            \
  extern "C" __global__ void NAME(const A *a, const B *b, const int *c, int *d) {                \
    int g = threadIdx.x / 4, t = threadIdx.x % 4, x[4];                                          \
    union { uint32_t r[4]; A e[16]; } fa;                                                        \
    union { uint32_t r[2]; B e[8]; } fb;                                                         \
    for (int i = 0; i < K / 2; i++) fa.e[i] = a[(g + i / 4 % 2 * 8) * K + i / 8 * 16 + t * 4 + i % 4]; \
    for (int i = 0; i < K / 4; i++) fb.e[i] = b[(i / 4 * 16 + t * 4 + i % 4) * 8 + g];           \
    for (int i = 0; i < 4; i++) x[i] = c[(g + i / 2 * 8) * 8 + t * 2 + i % 2];                   \
    asm volatile("mma.sync.aligned.m16n8k" #K ".row.col" SATURATED ".s32." TA "." TB ".s32 "     \
                 "{%0, %1, %2, %3}, " LEFT ", " RIGHT ", {%0, %1, %2, %3};"                      \
                 : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]) : __VA_ARGS__);                \
    for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = x[i];                   \
  }

// kernel bytes_32 grid 1 block 32
// in a int8 = rng.integers(-128, 128, (16, 32))
// in b uint8 = rng.integers(0, 256, (32, 8))
// in c int32 = rng.integers(-9999, 9999, (16, 8))
// out d int32 = a.astype(int) @ b.astype(int) + c
WHOLE_MMA(bytes_32, 32, "s8", "u8", int8_t, uint8_t, "", "{%4, %5, %6, %7}", "{%8, %9}", FOUR)

// Sums beyond an int: they wrap around, or stay at the limit.
// kernel bytes_16 grid 1 block 32
// in a int8 = rng.integers(-128, 128, (16, 16))
// in b int8 = rng.integers(-128, 128, (16, 8))
// in c int32 = rng.choice([2**31 - 1, -2**31], (16, 8))
// out d int32 = (a.astype(int) @ b.astype(int) + c + 2**31) % 2**32 - 2**31
WHOLE_MMA(bytes_16, 16, "s8", "s8", int8_t, int8_t, "", "{%4, %5}", "{%6}", TWO)

// kernel saturated grid 1 block 32
// in a int8 = rng.integers(-128, 128, (16, 16))
// in b int8 = rng.integers(-128, 128, (16, 8))
// in c int32 = rng.choice([2**31 - 1, -2**31], (16, 8))
// out d int32 = np.clip(a.astype(int) @ b.astype(int) + c, -2**31, 2**31 - 1)
WHOLE_MMA(saturated, 16, "s8", "s8", int8_t, int8_t, ".satfinite", "{%4, %5}", "{%6}", TWO)

// Numbers of 8 bits: 1 / 8 to 1.875 in steps of one bit, with both signs.
// kernel float8_e4m3 grid 1 block 32
// in a uint8 = rng.integers(0x20, 0x40, (16, 32)) | rng.choice([0, 0x80], (16, 32))
// in b uint8 = rng.integers(0x20, 0x40, (32, 8)) | rng.choice([0, 0x80], (32, 8))
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = ((1 + a % 8 / 8) * 2.0**(a // 8 % 16 - 7.0) * (1 - a // 128 * 2.0)) @ ((1 + b % 8 / 8) * 2.0**(b // 8 % 16 - 7.0) * (1 - b // 128 * 2.0)) + c
FLOAT_MMA(float8_e4m3, 32, "e4m3", uint8_t, 4, "{%4, %5, %6, %7}", "{%8, %9}", FOUR)

// kernel float8_e5m2 grid 1 block 32
// in a uint8 = rng.integers(0x30, 0x40, (16, 32)) | rng.choice([0, 0x80], (16, 32))
// in b uint8 = rng.integers(0x30, 0x40, (32, 8)) | rng.choice([0, 0x80], (32, 8))
// in c float32 = rng.integers(-9, 9, (16, 8))
// out d float32 = ((1 + a % 4 / 4) * 2.0**(a // 4 % 32 - 15.0) * (1 - a // 128 * 2.0)) @ ((1 + b % 4 / 4) * 2.0**(b // 4 % 32 - 15.0) * (1 - b // 128 * 2.0)) + c
FLOAT_MMA(float8_e5m2, 32, "e5m2", uint8_t, 4, "{%4, %5, %6, %7}", "{%8, %9}", FOUR)

// Doubles, each in a register of 64 bits.
#define DOUBLE_MMA(NAME, M, K, ...) ROUNDED_MMA(NAME, M, K, "", __VA_ARGS__)
#define ROUNDED_MMA(NAME, M, K, ROUNDING, RESULT, LEFT, RIGHT, ...)                              \
  extern "C" __global__ void NAME(const double *a, const double *b, const double *c, double *d) { \
    int g = threadIdx.x / 4, t = threadIdx.x % 4;                                                \
    double fa[M / 8 * K / 4], fb[K / 4], x[M / 4];                                               \
    for (int i = 0; i < M / 8 * K / 4; i++) fa[i] = a[(g + i % (M / 8) * 8) * K + i / (M / 8) * 4 + t]; \
    for (int i = 0; i < K / 4; i++) fb[i] = b[(i * 4 + t) * 8 + g];                              \
    for (int i = 0; i < M / 4; i++) x[i] = c[(g + i / 2 * 8) * 8 + t * 2 + i % 2];               \
    asm volatile("mma.sync.aligned.m" #M "n8k" #K ".row.col.f64.f64.f64.f64" ROUNDING " "        \
                 RESULT ", " LEFT ", " RIGHT ", " RESULT ";" : __VA_ARGS__);                     \
    for (int i = 0; i < M / 4; i++) d[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = x[i];               \
  }
#define TWO_SUMS "+d"(x[0]), "+d"(x[1])
#define FOUR_SUMS TWO_SUMS, "+d"(x[2]), "+d"(x[3])

// kernel doubles_8_4 grid 1 block 32
// in a float64 = rng.integers(-2**20, 2**20, (8, 4))
// in b float64 = rng.integers(-2**20, 2**20, (4, 8))
// in c float64 = rng.integers(-9, 9, (8, 8)) / 4
// out d float64 = a @ b + c
DOUBLE_MMA(doubles_8_4, 8, 4, "{%0, %1}", "{%2}", "{%3}", TWO_SUMS : "d"(fa[0]), "d"(fb[0]))

// kernel doubles_16_4 grid 1 block 32
// in a float64 = rng.integers(-2**20, 2**20, (16, 4))
// in b float64 = rng.integers(-2**20, 2**20, (4, 8))
// in c float64 = rng.integers(-9, 9, (16, 8)) / 4
// out d float64 = a @ b + c
DOUBLE_MMA(doubles_16_4, 16, 4, "{%0, %1, %2, %3}", "{%4, %5}", "{%6}",
           FOUR_SUMS : "d"(fa[0]), "d"(fa[1]), "d"(fb[0]))

// kernel doubles_16_8 grid 1 block 32
// in a float64 = rng.integers(-2**20, 2**20, (16, 8))
// in b float64 = rng.integers(-2**20, 2**20, (8, 8))
// in c float64 = rng.integers(-9, 9, (16, 8)) / 4
// out d float64 = a @ b + c
DOUBLE_MMA(doubles_16_8, 16, 8, "{%0, %1, %2, %3}", "{%4, %5, %6, %7}", "{%8, %9}",
           FOUR_SUMS : "d"(fa[0]), "d"(fa[1]), "d"(fa[2]), "d"(fa[3]), "d"(fb[0]), "d"(fb[1]))

// kernel doubles_16_16 grid 1 block 32
// in a float64 = rng.integers(-2**20, 2**20, (16, 16))
// in b float64 = rng.integers(-2**20, 2**20, (16, 8))
// in c float64 = rng.integers(-9, 9, (16, 8)) / 4
// out d float64 = a @ b + c
DOUBLE_MMA(doubles_16_16, 16, 16, "{%0, %1, %2, %3}", "{%4, %5, %6, %7, %8, %9, %10, %11}",
           "{%12, %13, %14, %15}", FOUR_SUMS : "d"(fa[0]), "d"(fa[1]), "d"(fa[2]), "d"(fa[3]),
           "d"(fa[4]), "d"(fa[5]), "d"(fa[6]), "d"(fa[7]), "d"(fb[0]), "d"(fb[1]), "d"(fb[2]), "d"(fb[3]))

// Fused multiply-adds, in order: (1 + e) * (1 - e) - 1 is -e * e, and what is below a large number is lost.
// kernel double_order grid 1 block 32
// in a float64 = np.tile([1 + 2.0**-30, 2.0**53, 1, -2.0**53], (8, 1))
// in b float64 = np.repeat([[1 - 2.0**-30], [1], [1], [1]], 8, 1)
// in c float64 = np.full((8, 8), -1.0)
// out d float64 = np.zeros((8, 8))
DOUBLE_MMA(double_order, 8, 4, "{%0, %1}", "{%2}", "{%3}", TWO_SUMS : "d"(fa[0]), "d"(fb[0]))

// kernel double_fused grid 1 block 32
// in a float64 = np.tile([1 + 2.0**-30, 0, 0, 0], (8, 1))
// in b float64 = np.full((4, 8), 1 - 2.0**-30)
// in c float64 = np.full((8, 8), -1.0)
// out d float64 = np.full((8, 8), -2.0**-60)
DOUBLE_MMA(double_fused, 8, 4, "{%0, %1}", "{%2}", "{%3}", TWO_SUMS : "d"(fa[0]), "d"(fb[0]))

// Each of the multiply-adds rounds: what they add to 1 is below its last bit.
// kernel double_up grid 1 block 32
// in a float64 = np.full((8, 4), 2.0**-60)
// in b float64 = np.full((4, 8), 2.0**-60)
// in c float64 = np.ones((8, 8))
// out d float64 = np.full((8, 8), 1 + 2.0**-50)
ROUNDED_MMA(double_up, 8, 4, ".rp", "{%0, %1}", "{%2}", "{%3}", TWO_SUMS : "d"(fa[0]), "d"(fb[0]))

// kernel double_to_zero grid 1 block 32
// in a float64 = np.full((8, 4), -2.0**-60)
// in b float64 = np.full((4, 8), 2.0**-60)
// in c float64 = np.ones((8, 8))
// out d float64 = np.full((8, 8), 1 - 2.0**-51)
ROUNDED_MMA(double_to_zero, 8, 4, ".rz", "{%0, %1}", "{%2}", "{%3}", TWO_SUMS : "d"(fa[0]), "d"(fb[0]))

// Tiles of doubles in shared memory, by four warps.
// kernel tiled_doubles grid 2 block 128
// in a float64 = rng.integers(-99, 99, (16, 12))
// in b float64 = rng.integers(-99, 99, (12, 32))
// out c float64 = a @ b
extern "C" __global__ void tiled_doubles(const double *a, const double *b, double *c) {
  __shared__ double as[8][4 + 2], bs[4][32 + 2];
  int warp = threadIdx.x / 32, row = blockIdx.x * 8;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
  wmma::fill_fragment(sum, 0.0);
  for (int k = 0; k < 12; k += 4) {
    if (threadIdx.x < 32) as[threadIdx.x / 4][threadIdx.x % 4] = a[(row + threadIdx.x / 4) * 12 + k + threadIdx.x % 4];
    bs[threadIdx.x / 32][threadIdx.x % 32] = b[(k + threadIdx.x / 32) * 32 + threadIdx.x % 32];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, &as[0][0], 6);
    wmma::load_matrix_sync(fb, &bs[0][warp * 8], 34);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(c + row * 32 + warp * 8, sum, 32, wmma::mem_row_major);
}
