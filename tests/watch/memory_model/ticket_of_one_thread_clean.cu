// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["uint32", 8, "zero"], ["int32", 8, "out"]]}
// expect: clean
extern "C" __global__ void k(int *data, unsigned *count, int *out) {
  data[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  if (atomicAdd(count, 1u) == gridDim.x - 1) {
    __threadfence();
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += data[b];
    out[0] = sum;
    *count = 0;
  }
}
