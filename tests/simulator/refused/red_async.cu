// refuses red.async at line 6: (thread block clusters)
extern "C" __global__ void k(float *x) {
  __shared__ unsigned long long gate;
  __shared__ unsigned sum;
  unsigned a = __cvta_generic_to_shared(&sum), b = __cvta_generic_to_shared(&gate);
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" :: "r"(a), "r"(1u), "r"(b) : "memory");
  x[threadIdx.x] = 1;
}
