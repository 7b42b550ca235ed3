// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "zero"]]}
// expect: race error variable data
__device__ volatile int flag;
__device__ int data;
extern "C" __global__ void k(const int* x, int* y) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data = x[0];
    __threadfence();
    flag = 1;
  } else {
    int rounds = 0;
    while (!flag && ++rounds < 1000) {
    }
    __threadfence();
    y[0] = data;
  }
}
