// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 11 variable v
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void k(const int *in, int *out, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int v;
    if (threadIdx.x < 16) v = in[threadIdx.x];
    out[threadIdx.x] = cg::reduce(tile, v, cg::plus<int>()) + n;
}
