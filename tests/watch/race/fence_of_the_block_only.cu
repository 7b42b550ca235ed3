// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 4, "out"], ["uint32", 1, "zero"], ["float32", 1, "out"]]}
// expect: race error line 10 variable part
extern "C" __global__ void k(const float *in, float *part, unsigned *ticket, float *out) {
  if (threadIdx.x) return;
  part[blockIdx.x] = in[blockIdx.x];
  __threadfence_block();
  if (atomicAdd(ticket, 1u) == gridDim.x - 1) {
    __threadfence_block();
    float s = 0;
    for (int b = 0; b < gridDim.x; ++b) s += part[b];
    *out = s;
  }
}
