// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 13
#include <cub/block/block_scan.cuh>
struct Item { double mass; char kind; };
struct Add {
    __device__ Item operator()(const Item &a, const Item &b) const { return Item{a.mass + b.mass, b.kind}; }
};
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Scan = cub::BlockScan<Item, 64>;
    __shared__ typename Scan::TempStorage room;
    Item item;
    item.mass = in[threadIdx.x];
    Scan(room).InclusiveScan(item, item, Add());
    out[threadIdx.x] = item.mass + item.kind;
}
