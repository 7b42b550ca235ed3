// launch: {"kernel": "half2_loads", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint32", 256], ["uint32", 128, "out"]]}
#include <cuda_fp16.h>
extern "C" __global__ void half2_loads(const __half2 *in, __half2 *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = __hmax2(in[i], in[255 - i]);
}
