// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *m, int *n) {
  if (threadIdx.x == 0) { while (atomicCAS(m, 0, 1)); __threadfence(); }
  __syncthreads();
  n[threadIdx.x] += 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(m, 0);
}
