// A launch without clusters has clusters of one block: their barriers, addresses and special registers.

#include <cooperative_groups.h>
#include <cstdint>
namespace cg = cooperative_groups;
// kernel cluster_group grid 2 block 64
// out o int32 = [(63 - i % 64) * 3 + (i // 64) for i in range(128)]
extern "C" __global__ void cluster_group(int *o) {
  __shared__ int s[64];
  cg::cluster_group c = cg::this_cluster();
  s[threadIdx.x] = 3 * threadIdx.x;
  c.sync();
  int *all = c.map_shared_rank(s, c.block_rank());
  o[blockIdx.x * 64 + threadIdx.x] = all[63 - threadIdx.x] + blockIdx.x * c.num_blocks();
}
// kernel cluster_split grid 2 block 64
// out o int32 = [65 - i % 64 for i in range(128)]
extern "C" __global__ void cluster_split(int *o) {
  __shared__ int s[64];
  int r, x;
  s[threadIdx.x] = threadIdx.x;
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  r = 1;
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("{ .reg .b32 a, n, rank; mov.u32 rank, %%cluster_ctarank; mapa.shared::cluster.u32 a, %1, rank; getctarank.shared::cluster.u32 rank, a; ld.shared::cluster.s32 %0, [a];\n"
               "mov.u32 n, %%cluster_nctaid.x; add.s32 %0, %0, n; mov.u32 n, %%cluster_ctaid.y; add.s32 %0, %0, n; add.s32 %0, %0, rank; mov.u32 n, %%clusterid.x; mov.u32 a, %%ctaid.x; sub.s32 n, n, a; add.s32 %0, %0, n;\n"
               ".reg .pred p; mov.pred p, %%is_explicit_cluster; selp.s32 n, 100, 0, p; add.s32 %0, %0, n; }"
               : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(s + 63 - threadIdx.x)) : "memory");
  o[blockIdx.x * 64 + threadIdx.x] = x + r;
}
// kernel cluster_mbarrier grid 1 block 64
// out o int32 = [63 - i for i in range(64)]
extern "C" __global__ void cluster_mbarrier(int *o) {
  __shared__ uint64_t b;
  __shared__ int s[64];
  unsigned at = (unsigned)__cvta_generic_to_shared(&b), done;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%1], %0; fence.mbarrier_init.release.cluster;" :: "r"(64), "r"(at) : "memory");
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }" :: "r"(at) : "memory");
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
  while (!done);
  o[threadIdx.x] = s[63 - threadIdx.x];
}
// kernel cluster_no_wait grid 1 block 64
// out o int32 = np.zeros(64)
extern "C" __global__ void cluster_no_wait(int *o) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  o[threadIdx.x] = s[63 - threadIdx.x];  // <- race
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
