// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
#include <cuda/pipeline>
#include <cooperative_groups.h>
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0, f = 0; k < 4; k++) {
    for (; f < 4 && f < k + 2; f++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[f % 2], in + f * 64, sizeof(float) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[k * 64 + threadIdx.x] = s[k % 2][63 - threadIdx.x]; /*!*/
    __syncthreads(); pipe.consumer_release();
  }
}
