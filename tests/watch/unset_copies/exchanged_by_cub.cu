// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 9 variable v
#include <cub/block/block_exchange.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Exchange = cub::BlockExchange<int, 64, 2>;
    __shared__ typename Exchange::TempStorage room;
    int v[2], i = threadIdx.x;
    if (i < 32) { v[0] = in[i]; v[1] = in[i + 1]; }
    Exchange(room).BlockedToStriped(v, v);
    out[i] = v[1];
}
