// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
#include <cuda/barrier>
extern "C" __global__ void k(const float *in, float *out) {
  alignas(128) __shared__ float s[256];
  int t = threadIdx.x;
  #pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (t == 0) init(&bar, blockDim.x);
  for (int i = t; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  if (t == 0) cuda::memcpy_async(s, in, cuda::aligned_size_t<16>(512), bar);
  bar.arrive_and_wait();
  for (int i = t; i < 256; i += blockDim.x) out[i] = s[i];
}
