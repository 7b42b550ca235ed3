// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const float *in, float *out) {
  alignas(128) __shared__ float s[256];
  int t = threadIdx.x;
  for (int n = 0; n < 2; n++) {
    if (t < 128) s[t] = in[n * 128 + t];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + n * 128, s, 512);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
  if (t == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}
