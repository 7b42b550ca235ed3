// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 1, "out"]]}
// expect: clean
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(const int *x, int *y) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage temp;
  int sum = Reduce(temp).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) y[0] = sum;
}
