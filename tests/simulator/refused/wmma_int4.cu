// refuses load_matrix_sync, in PTX wmma.load at line 7: (tensor cores)
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const int *a, int *c) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> f;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> s;
  wmma::load_matrix_sync(f, a, 32);
  for (int i = 0; i < f.num_elements; i++) c[i] = f.x[i];
}
