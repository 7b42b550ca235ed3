// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 12 variable v
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void k(const int *in, int *out, int n) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    float v;
    if (threadIdx.x != 7) v = in[threadIdx.x];
    float sum = cg::inclusive_scan(tile, v);
    out[threadIdx.x] = sum * n;
}
