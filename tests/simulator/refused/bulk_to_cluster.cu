// refuses cp_async_bulk, in PTX cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes at line 7: (the tensor memory accelerator)
#include <cuda/ptx>
extern "C" __global__ void k(float *p) {
  __shared__ alignas(16) float s[32], r[32];
  __shared__ unsigned long long bar;
  s[threadIdx.x] = p[threadIdx.x];
  if (threadIdx.x == 0) cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_shared, r, s, 128, &bar);
}
