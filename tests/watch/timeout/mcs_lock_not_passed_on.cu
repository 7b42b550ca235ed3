// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint32", 1, "zero"], ["uint32", 129, "zero"], ["int32", 1, "zero"]]}
// expect: timeout error line 12
__device__ volatile unsigned blocked[129];
extern "C" __global__ void k(unsigned* tail, unsigned* links, int* count) {
  unsigned me = blockIdx.x * 64 + threadIdx.x + 1;
  volatile unsigned* next = links;
  blocked[me] = 1;
  __threadfence();
  unsigned before = atomicExch(tail, me);
  if (before) {
    next[before] = me;
    while (blocked[me]) {
    }
  }
  __threadfence();
  *count = *count + 1;
  __threadfence();
  if (next[me] == 0) return;
  blocked[next[me]] = 0;
}
