// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 8 variable a
#include <cuda_pipeline.h>
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int a[32], b[32];
    a[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    __pipeline_memcpy_async(&b[threadIdx.x], &a[31 - threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = b[threadIdx.x];
}
