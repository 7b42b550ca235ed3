// refuses load_matrix_sync, in PTX wmma.load at line 8: (tensor cores)
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const double *a, double *c) {
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> f;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> g;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> s;
  wmma::load_matrix_sync(f, a, 4);
  wmma::load_matrix_sync(g, a, 4);
  wmma::fill_fragment(s, 0.0);
  wmma::mma_sync(s, f, g, s);
  wmma::store_matrix_sync(c, s, 8, wmma::mem_row_major);
}
