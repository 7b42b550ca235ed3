// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int buf[32];
  if (threadIdx.x < 32) { buf[threadIdx.x] = x[threadIdx.x]; asm volatile("bar.arrive 1, 64;" ::: "memory"); }
  else { asm volatile("bar.sync 1, 64;" ::: "memory"); y[threadIdx.x - 32] = buf[63 - threadIdx.x]; }
}
