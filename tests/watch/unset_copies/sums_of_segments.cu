// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 11
#include <cub/block/block_scan.cuh>
#include <cub/thread/thread_operators.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Pair = cub::KeyValuePair<int, int>;
    using Scan = cub::BlockScan<Pair, 64>;
    __shared__ typename Scan::TempStorage room;
    Pair v; int i = threadIdx.x;
    if (i < 8 * n) { v.key = i % 5 == 0; v.value = in[i]; }
    Scan(room).InclusiveScan(v, v, cub::ReduceBySegmentOp<cuda::std::plus<>>());
    if (i < 9 * n) out[i] = v.value;
}
