// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
#include <cuda_pipeline.h>
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int b[32];
    __pipeline_memcpy_async(&b[threadIdx.x], &in[31 - threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = b[threadIdx.x];
}
