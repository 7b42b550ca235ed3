// kernel whole_sum grid 4 block 64 cooperative yes
// in x int32 = rng.integers(0, 99, 256)
// inout y int32 = np.zeros(257) -> np.append(x, x.sum())
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void whole_sum(const int *x, int *y) {
  cg::grid_group grid = cg::this_grid();
  y[grid.thread_rank()] = x[grid.thread_rank()];
  grid.sync();
  if (grid.thread_rank() == 0) {
    int sum = 0;
    for (int i = 0; i < grid.size(); i++) sum += y[i];
    y[256] = sum;
  }
}

// kernel rounds grid 3 block 32 cooperative yes
// in x int32 = rng.integers(0, 99, 96)
// inout a int32 = x -> np.roll(x, 4)
// out b int32 = np.roll(x, 3)
extern "C" __global__ void rounds(const int *x, int *a, int *b) {
  cg::grid_group grid = cg::this_grid();
  int t = grid.thread_rank(), n = grid.size();
  int *from = a, *to = b;
  for (int k = 0; k < 4; k++) {
    to[(t + 1) % n] = from[t];
    grid.sync();
    int *was = from;
    from = to;
    to = was;
  }
}

// kernel not_cooperative grid 2 block 32
// in x int32 = rng.integers(0, 99, 64)
// out y int32 = x
// finds launch-failure error grid.sync() waits for the other blocks, but this launch is not cooperative
extern "C" __global__ void not_cooperative(const int *x, int *y) {
  cg::grid_group grid = cg::this_grid();
  y[grid.thread_rank()] = x[grid.thread_rank()];
  grid.sync();
}

// kernel groups_of_the_grid grid 2 block 32
// out y int32 = np.arange(64)
extern "C" __global__ void groups_of_the_grid(int *y) {
  cg::grid_group grid = cg::this_grid();
  y[grid.thread_rank()] = grid.thread_rank();
}
