// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable v
#include <cooperative_groups.h>
struct Item { double mass; int key; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
    Item v; int i = threadIdx.x;
    v.mass = in[i]; if (i < n) v.key = i;
    Item next = tile.shfl_down(v, 1);
    out[i] = next.mass + (i < n ? next.key : 0);
}
