// refuses wmma.store at line 6: (tensor cores)
#include <mma.h>
extern "C" __global__ void k(float *x) {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
  nvcuda::wmma::fill_fragment(c, 0.0f);
  nvcuda::wmma::store_matrix_sync(x, c, 16, nvcuda::wmma::mem_row_major);
}
