// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "inout"], ["int32", 64]]}
// expect: race error variable sum
extern "C" __global__ void k(int *lock, int *sum, const int *in) {
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += in[blockIdx.x];
    __threadfence();
    if (blockIdx.x > 0) atomicExch(lock, 0);
  }
}
