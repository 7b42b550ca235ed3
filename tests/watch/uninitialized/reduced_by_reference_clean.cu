// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void k(const int *in, int *out, int n) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v;
    if (tile.meta_group_rank() == 0) {
        v = in[threadIdx.x];
        v = cg::reduce(tile, v, cg::plus<int>());
    }
    out[threadIdx.x] = tile.meta_group_rank() == 0 ? v : n;
}
