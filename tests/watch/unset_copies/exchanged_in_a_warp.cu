// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 9 variable v
#include <cub/warp/warp_exchange.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Exchange = cub::WarpExchange<int, 2, 32>;
    __shared__ typename Exchange::TempStorage room;
    int v[2], i = threadIdx.x;
    if (i < 16) { v[0] = in[i]; v[1] = in[i + 1]; }
    Exchange(room).BlockedToStriped(v, v);
    out[i] = 2 * v[1];
}
