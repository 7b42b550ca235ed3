// launch: {"kernel": "k", "grid": [6, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 384], ["float32", 6, "out"]]}
// expect: clean
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned int retirementCount = 0;
extern "C" __global__ void k(const float *in, float *g_odata) {
  cg::thread_block cta = cg::this_thread_block();
  __shared__ float smem[64];
  __shared__ bool amLast;
  unsigned tid = threadIdx.x;
  smem[tid] = in[blockIdx.x * 64 + tid];
  cg::sync(cta);
  if (tid == 0) { float s = 0; for (int i = 0; i < 64; i++) s += smem[i]; g_odata[blockIdx.x] = s; }
  __threadfence();
  if (tid == 0) {
    unsigned int ticket = atomicInc(&retirementCount, gridDim.x);
    amLast = (ticket == gridDim.x - 1);
  }
  cg::sync(cta);
  if (amLast) {
    float mySum = 0;
    for (int i = tid; i < gridDim.x; i += 64) mySum += g_odata[i];
    smem[tid] = mySum;
    cg::sync(cta);
    if (tid == 0) { float s = 0; for (int i = 0; i < 64; i++) s += smem[i]; g_odata[0] = s; retirementCount = 0; }
  }
}
