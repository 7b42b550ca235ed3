// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/block/block_scan.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Scan = cub::BlockScan<int, 64>;
    __shared__ typename Scan::TempStorage room;
    int v[2], i = threadIdx.x;
    for (int j = 0; j < 2; j++) if (2 * i + j < 5 * n) v[j] = in[i];
    Scan(room).InclusiveSum(v, v);
    for (int j = 0; j < 2; j++) if (2 * i + j < 5 * n) out[(2 * i + j) % 64] = v[j];
}
