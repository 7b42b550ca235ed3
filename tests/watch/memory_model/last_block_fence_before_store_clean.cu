// launch: {"kernel": "sum", "grid": [5, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 640], ["float32", 320, "zero"], ["uint32", 1, "zero"], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void sum(const float *x, float *part, unsigned *count, float *y) {
  int t = threadIdx.x, b = blockIdx.x;
  part[b * 64 + t] = x[b * 128 + t] + x[b * 128 + 64 + t];
  __threadfence();
  __syncthreads();
  bool last = false;
  if (t == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  if (__syncthreads_or(last)) {
    float v = 0;
    for (int k = 0; k < gridDim.x; ++k) v += part[k * 64 + t];
    y[t] = v;
  }
}
