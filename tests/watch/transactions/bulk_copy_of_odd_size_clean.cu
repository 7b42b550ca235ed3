// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["float32", 256], ["float32", 64, "out"]]}
// expect: clean
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const float *in, float *out) {
    alignas(16) __shared__ float s[68];
    __shared__ unsigned long long bar;
    unsigned bytes = 256;
    if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 1);
    if (threadIdx.x == 0) ptx::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, s, in, bytes, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, bytes);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    out[threadIdx.x] = s[threadIdx.x];
}
