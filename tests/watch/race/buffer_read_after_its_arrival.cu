// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 512], ["int32", 64, "out"]]}
// expect: race error hazard WAR variable buf
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/std/utility>
using barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ void producer(barrier ready[], barrier filled[], int *buf, const int *in) {
  for (int i = 0; i < 8; ++i) {
    ready[i % 2].arrive_and_wait();
    for (int j = threadIdx.x; j < 64; j += 32) buf[(i % 2) * 64 + j] = in[i * 64 + j];
    barrier::arrival_token token = filled[i % 2].arrive();
  }
}
__device__ void consumer(barrier ready[], barrier filled[], int *buf, int *out) {
  barrier::arrival_token t1 = ready[0].arrive();
  barrier::arrival_token t2 = ready[1].arrive();
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    filled[i % 2].arrive_and_wait();
    barrier::arrival_token t3 = ready[i % 2].arrive();
      sum += buf[(i % 2) * 64 + 63 - (threadIdx.x - 32)];
  }
  out[threadIdx.x - 32] = sum;
}
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int buf[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar[4];
  auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() < 4) init(bar + block.thread_rank(), block.size());
  block.sync();
  if (block.thread_rank() < 32) producer(bar, bar + 2, buf, x);
  else consumer(bar, bar + 2, buf, y);
}
