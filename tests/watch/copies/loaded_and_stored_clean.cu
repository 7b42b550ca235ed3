// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const float *in, float *out) {
  alignas(128) __shared__ float s[256];
  int t = threadIdx.x;
  #pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (t == 0) {
    init(&bar, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, s, in, sizeof s, cuda::device::barrier_native_handle(bar));
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
  } else token = bar.arrive();
  bar.wait(cuda::std::move(token));
  __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, sizeof s);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
