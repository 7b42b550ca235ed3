// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable v
#include <cub/block/block_discontinuity.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Heads = cub::BlockDiscontinuity<int, 64>;
    __shared__ typename Heads::TempStorage room;
    int v[2], head[2], first = 2 * threadIdx.x;
    for (int j = 0; j < 2; j++) if (first + j < 10 * n) v[j] = in[first % 64];

    Heads(room).FlagHeads(head, v, cuda::std::not_equal_to<>());
    for (int j = 0; j < 2; j++) if (first + j < 11 * n) out[(first + j) % 64] = head[j];
}
