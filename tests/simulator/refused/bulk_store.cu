// refuses cp_async_bulk, in PTX cp.async.bulk.global.shared::cta.bulk_group at line 6: (the tensor memory accelerator)
#include <cuda/ptx>
extern "C" __global__ void k(float *p) {
  __shared__ alignas(16) float s[32];
  s[threadIdx.x] = 1;
  if (threadIdx.x == 0) cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, p, s, 128);
}
