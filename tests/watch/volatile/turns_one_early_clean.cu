// launch: {"kernel": "k", "grid": [5, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 2, "zero"], ["int32", 4, "zero"]]}
// expect: clean
struct Lock {
  unsigned next, serving;
  __device__ void take() {
    unsigned mine = atomicAdd(&next, 1u);
    volatile unsigned *at = &serving;
    while (*at + 1 <= mine) { }
    __threadfence();
  }
  __device__ void give() {
    __threadfence();
    *(volatile unsigned *)&serving = *(volatile unsigned *)&serving + 1;
  }
};
extern "C" __global__ void k(Lock *lock, int *sum) {
  if (threadIdx.x) return;
  lock->take();
  for (int i = 0; i < 4; ++i) sum[i] += i;
  lock->give();
}
