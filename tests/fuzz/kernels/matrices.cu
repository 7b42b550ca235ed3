// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float16", 256], ["float32", 256, "out"]]}
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half *a, float *c) {
  __shared__ __align__(16) half s[256];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = a[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, s, 16);
  wmma::load_matrix_sync(fb, a, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
  unsigned x, y;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(x), "=r"(y) : "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x % 16 * 8)));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%2], {%0, %1};"
               : : "r"(x), "r"(y), "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x % 16 * 8)) : "memory");
  c[threadIdx.x] += clock() & x & y & 1;
}
