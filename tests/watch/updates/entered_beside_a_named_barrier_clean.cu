// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 3, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *entered, int *out) {
  __shared__ int open;
  int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) open = 1;
  __syncthreads();
  if (warp < 2 && threadIdx.x % 32 == 0 && atomicAdd(&open, 0)) {
    if (atomicExch(&open, 0)) atomicAdd(entered, 1);
  }
  if (warp < 2) asm volatile("bar.sync 1, 64;");
  if (threadIdx.x % 32 == 0) out[warp] = warp;
}
