// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error line 20 variable data
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ __align__(16) int data[64];
  __shared__ __align__(8) unsigned long long filled;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&filled), to = (unsigned)__cvta_generic_to_shared(data);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], 256; }" ::"r"(bar) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 ::"r"(to), "l"(in), "r"(bar) : "memory");
  }
  __syncthreads();
  int done = 0, tries = 0;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(bar) : "memory");
  } while (!done && ++tries < 8);
  out[threadIdx.x] = data[threadIdx.x];
}
