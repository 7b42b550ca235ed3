// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 2, "zero"]]}
// expect: race error variable a
__device__ volatile int a, b;
extern "C" __global__ void k(int *out) {
  if (blockIdx.x == 0) {
    a = 1;
    if (b == 0) atomicAdd(out, 1);
  } else {
    b = 1;
    __threadfence();
    if (a == 0) atomicAdd(out, 1);
  }
  __threadfence();
  if (atomicAdd(out + 1, 1) == 1) { __threadfence(); out[0] = atomicAdd(out, 0) > 1; }
}
