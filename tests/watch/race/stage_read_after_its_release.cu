// launch: {"kernel": "pipe", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 512], ["int32", 64, "out"]]}
// expect: race error hazard WAR variable buf
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void pipe(const int *x, int *y) {
  __shared__ int buf[3][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto p = cuda::make_pipeline(block, &state, role);
  if (role == cuda::pipeline_role::producer) {
    int lane = threadIdx.x;
    for (int k = 0; k < 8; ++k) {
      p.producer_acquire();
      cuda::memcpy_async(&buf[k % 3][2 * lane], &x[k * 64 + 2 * lane], cuda::aligned_size_t<8>(8), p);
      p.producer_commit();
    }
  } else {
    int t = threadIdx.x - 32, sum = 0;
    for (int k = 0; k < 8; ++k) {
      p.consumer_wait();
      sum += buf[k % 3][63 - t];
      p.consumer_release();
      sum += buf[k % 3][t];
    }
    y[t] = sum;
  }
}
