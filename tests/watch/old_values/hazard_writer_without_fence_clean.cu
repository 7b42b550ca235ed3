// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 2, "zero"]]}
// expect: clean
__device__ volatile int current, hazard;
extern "C" __global__ void k(int *out) {
  if (blockIdx.x == 0) {
    current = 1;
    __threadfence();
    if (hazard == 0) atomicAdd(out, 1);
  } else {
    hazard = 1;
    __threadfence();
    if (current == 0) atomicAdd(out, 1);
  }
  __threadfence();
  if (atomicAdd(out + 1, 1) == 1) { __threadfence(); out[0] = atomicAdd(out, 0) > 1; }
}
