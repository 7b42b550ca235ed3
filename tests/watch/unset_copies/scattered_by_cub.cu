// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable v
#include <cub/block/block_exchange.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Exchange = cub::BlockExchange<int, 64, 1>;
    __shared__ typename Exchange::TempStorage room;
    int v[1], at[1], i = threadIdx.x;
    at[0] = 63 - i;
    if (i < n) v[0] = in[i];
    Exchange(room).ScatterToStriped(v, at);
    out[i] = i > 0 ? v[0] : 0;
}
