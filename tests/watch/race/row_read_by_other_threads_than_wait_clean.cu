// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [8, 1, 1], "shared": 0, "args": [["float32", 32, "inout"], ["uint32", 4, "zero"]]}
// expect: clean
extern "C" __global__ void k(float *x, unsigned *flag) {
  int r = blockIdx.x, t = threadIdx.x;
  if (r) {
    if (t == 0) while (atomicOr(&flag[r - 1], 0) == 0) {}
    __syncthreads(); __threadfence();
    x[r * 8 + t] += x[(r - 1) * 8 + t];
  }
  __threadfence();
  __syncthreads();
  if (t == 0) atomicOr(&flag[r], 1);
}
