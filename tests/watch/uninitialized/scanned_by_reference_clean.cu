// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void k(const int *in, int *out, int n) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    float v, most;
    v = threadIdx.x != 7 ? in[threadIdx.x] : 0;
    float sum = cg::inclusive_scan(tile, v);
    if (tile.thread_rank() < 8) {
        auto part = cg::coalesced_threads();
        most = cg::reduce(part, sum, cg::greater<float>());
    }
    out[threadIdx.x] = tile.thread_rank() < 8 ? most : sum * n;
}
