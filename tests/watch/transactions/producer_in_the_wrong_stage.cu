// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error variable s
#include <cuda/pipeline>
#include <cooperative_groups.h>
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  int t = threadIdx.x % 32;
  for (int k = 0; k < 4; k++) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[(k + 1) % 2][t * 2], in + k * 64 + t * 2, sizeof(float) * 2, pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      out[k * 64 + t] = s[k % 2][63 - t];
      out[k * 64 + 32 + t] = s[k % 2][31 - t];
      pipe.consumer_release();
    }
  }
}
