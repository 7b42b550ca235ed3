// refuses cp.async.bulk.tensor at line 6: (the tensor memory accelerator)
extern "C" __global__ void k(float *x) {
  __shared__ __align__(128) float tile[64];
  __shared__ unsigned long long gate;
  unsigned a = __cvta_generic_to_shared(tile), b = __cvta_generic_to_shared(&gate);
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" :: "r"(a), "l"(x), "r"(0), "r"(b) : "memory");
  x[threadIdx.x] = tile[0];
}
