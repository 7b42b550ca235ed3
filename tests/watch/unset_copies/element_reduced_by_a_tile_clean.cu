// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int v[2], i = threadIdx.x;
    v[0] = in[i]; if (i < n) v[1] = 1;
    int sum = cg::reduce(tile, v[0], cg::plus<int>());
    out[i] = sum;
}
