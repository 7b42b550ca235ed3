// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_store.cuh>
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Difference = cub::BlockAdjacentDifference<int, 32>;
    __shared__ typename Difference::TempStorage room;
    int v[2], d[2], first = 2 * threadIdx.x;
    for (int j = 0; j < 2; j++) if (first + j < 50 - 0) v[j] = in[first + j];
    Difference(room).SubtractLeftPartialTile(v, d, Minus(), 50);
    cub::StoreDirectBlocked(threadIdx.x, out, d, 50);
}
