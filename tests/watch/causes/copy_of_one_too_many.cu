// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 257], ["float32", 64, "out"]]}
// expect: invalid-access error line 17 variable buf
// expect: race error
// first: invalid-access line 17 variable buf
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float *in, float *out) {
  auto block = cg::this_thread_block();
  __shared__ float buf[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto pipe = cuda::make_pipeline(block, &st);
  float sum = 0;
  for (int c = 0, f = 0; c < 4; c++) {
    for (; f < 4 && f < c + 2; f++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buf[f % 2], in + f * 64, sizeof(float) * 65, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buf[c % 2][(threadIdx.x + 1) % 64];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
