// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error line 12 variable s
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const float *in, float *out) {
  alignas(128) __shared__ float s[256];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += blockDim.x) s[i] = 2 * in[i];
  if (t == 0) ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, sizeof s);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
