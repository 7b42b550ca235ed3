// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"], ["uint32", 2, "zero"], ["float32", 2, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *part, unsigned *ticket, float *out) {
  int at = blockIdx.x * 64 + threadIdx.x;
  part[at] = in[at];
  __threadfence_block();
  if (atomicAdd(&ticket[blockIdx.x], 1u) < 63) return;
  __threadfence_block();
  float sum = 0;
  for (int j = 0; j < 64; ++j) sum += part[blockIdx.x * 64 + j];
  out[blockIdx.x] = sum;
}
