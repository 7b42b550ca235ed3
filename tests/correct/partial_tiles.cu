// Tiles of which only the first rows are loaded: a row of a product depends on its row of the left factor alone, so that
// what is computed of the other rows is discarded. A row that is stored needs its values.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

#define PARTIAL(NAME, M, N, K, T, ELEMENT, SUM, LOADED)                                                    \
  extern "C" __global__ void NAME(const ELEMENT *a, const ELEMENT *b, SUM *c, int rows) {                  \
    __shared__ __align__(32) ELEMENT left[M * K];                                                          \
    __shared__ __align__(32) SUM out[M * N];                                                               \
    for (int i = threadIdx.x; i < M * K; i += 32) if (i / K < (LOADED)) left[i] = a[i];                    \
    __syncwarp();                                                                                          \
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;                                        \
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> fb;                                        \
    wmma::fragment<wmma::accumulator, M, N, K, SUM> fc;                                                    \
    wmma::fill_fragment(fc, SUM(0));                                                                       \
    wmma::load_matrix_sync(fa, left, K);                                                                   \
    wmma::load_matrix_sync(fb, b, K);                                                                      \
    wmma::mma_sync(fc, fa, fb, fc);                                                                        \
    wmma::store_matrix_sync(out, fc, N, wmma::mem_row_major);                                              \
    __syncwarp();                                                                                          \
    for (int i = threadIdx.x; i < M * N; i += 32) if (i / N < rows) c[i] = out[i];                         \
  }

// kernel half_rows_unset grid 1 block 32
// in a float16 = rng.integers(-9, 9, (5, 16))
// in b float16 = rng.integers(-9, 9, (16, 16))
// out c float32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read warning no output depends on its value
PARTIAL(half_rows_unset, 16, 16, 16, half, half, float, rows)

// kernel brain_rows_unset grid 1 block 32
// in a uint16 = np.full((5, 16), 0x3F80)
// in b uint16 = np.full((16, 16), 0x3F80)
// out c float32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read warning no output depends on its value
PARTIAL(brain_rows_unset, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, rows)

// kernel byte_rows_unset grid 1 block 32
// in a int8 = rng.integers(-9, 9, (5, 16))
// in b int8 = rng.integers(-9, 9, (16, 16))
// out c int32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read warning no output depends on its value
PARTIAL(byte_rows_unset, 16, 16, 16, signed char, signed char, int, rows)

// kernel float_rows_unset grid 1 block 32
// in a float32 = rng.integers(-9, 9, (5, 8))
// in b float32 = rng.integers(-9, 9, (16, 8))
// out c float32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read warning no output depends on its value
PARTIAL(float_rows_unset, 16, 16, 8, wmma::precision::tf32, float, float, rows)

// kernel half_row_missing grid 1 block 32
// in a float16 = rng.integers(-9, 9, (5, 16))
// in b float16 = rng.integers(-9, 9, (16, 16))
// out c float32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read error read of shared `left[
PARTIAL(half_row_missing, 16, 16, 16, half, half, float, rows - 1)

// kernel brain_row_missing grid 1 block 32
// in a uint16 = np.full((5, 16), 0x3F80)
// in b uint16 = np.full((16, 16), 0x3F80)
// out c float32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read error read of shared `left[
PARTIAL(brain_row_missing, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, rows - 1)

// kernel byte_row_missing grid 1 block 32
// in a int8 = rng.integers(1, 9, (5, 16))
// in b int8 = rng.integers(1, 9, (16, 16))
// out c int32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read error read of shared `left[
PARTIAL(byte_row_missing, 16, 16, 16, signed char, signed char, int, rows - 1)

// kernel float_row_missing grid 1 block 32
// in a float32 = rng.integers(-9, 9, (5, 8))
// in b float32 = rng.integers(-9, 9, (16, 8))
// out c float32 = np.zeros((5, 16))
// value rows int32 = 5
// finds uninitialized-read error read of shared `left[
PARTIAL(float_row_missing, 16, 16, 8, wmma::precision::tf32, float, float, rows - 1)

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

template <bool ALL> __device__ void multiply(const half *a, const half *b, float *c, int rows) {
  __shared__ __align__(16) half left[16 * 16];
  int lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
  for (int i = lane; i < 256; i += 32) if (i / 16 < rows - !ALL) left[i] = a[i];
  __syncwarp();
  unsigned x[4], y[2] = {*(const unsigned *)&b[row * 16 + column], *(const unsigned *)&b[row * 16 + column + 8]};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(shared_address(&left[lane % 16 * 16 + lane / 16 * 8])));
  float d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int k = 0; k < 4; k++)
    if (int at = row + k / 2 * 8; at < rows) c[at * 8 + column + k % 2] = d[k];
}

// kernel loaded_in_part grid 1 block 32
// in a float16 = rng.integers(-9, 9, (11, 16))
// in b float16 = rng.integers(-9, 9, (8, 16))
// out c float32 = np.zeros((11, 8))
// value rows int32 = 11
// finds uninitialized-read warning read of shared `left[176]`, which no thread has written; no output depends on its value
extern "C" __global__ void loaded_in_part(const half *a, const half *b, float *c, int rows) { multiply<true>(a, b, c, rows); }

// kernel loaded_too_few grid 1 block 32
// in a float16 = rng.integers(-9, 9, (11, 16))
// in b float16 = rng.integers(-9, 9, (8, 16))
// out c float32 = np.zeros((11, 8))
// value rows int32 = 11
// finds uninitialized-read error read of shared `left[
extern "C" __global__ void loaded_too_few(const half *a, const half *b, float *c, int rows) { multiply<false>(a, b, c, rows); }

// Blocks that wait for each other: a flag of one array has no value that is stored in another array.
// kernel halo_behind_a_flag grid 2 block 32
// inout x float32 = np.arange(64) -> [0, *range(1, 31), 31, 32, *range(33, 63), 63]
// inout flag int32 = [0] -> [1]
// finds uninitialized-read warning no output depends on its value
extern "C" __global__ void halo_behind_a_flag(float *x, volatile int *flag) {
  __shared__ float s[34];
  int t = threadIdx.x;
  s[t + 1] = x[blockIdx.x * 32 + t];
  if (blockIdx.x == 0) *flag = 1;
  else while (*flag == 0) {}
  __syncthreads();
  float mean = (s[t] + s[t + 2]) / 2;
  if (t == 0 || t == 31) mean = s[t + 1];
  x[blockIdx.x * 32 + t] = mean;
}
// kernel halo_that_decides grid 1 block 32
// inout x float32 = np.arange(32) -> _
// inout count int32 = [0] -> _
// finds uninitialized-read error read of shared `s[0]`
extern "C" __global__ void halo_that_decides(float *x, int *count) {
  __shared__ float s[34];
  int t = threadIdx.x;
  s[t + 1] = x[t];
  __syncthreads();
  x[t] = s[t] + s[t + 2];
  __syncthreads();
  if (x[31 - t] == 12345.f) atomicAdd(count, 1);
  __syncthreads();
  x[t] = t;
}
