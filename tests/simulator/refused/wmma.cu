// refuses wmma.load at line 9: (tensor cores)
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half *a, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> g;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
  wmma::fill_fragment(s, 0.0f);
  wmma::load_matrix_sync(f, a, 16);
  wmma::load_matrix_sync(g, a, 16);
  wmma::mma_sync(s, f, g, s);
  wmma::store_matrix_sync(c, s, 16, wmma::mem_row_major);
}
