// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/block/block_exchange.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Exchange = cub::BlockExchange<int, 64, 2>;
    __shared__ typename Exchange::TempStorage room;
    int v[2], at[2], first = 2 * threadIdx.x;
    for (int j = 0; j < 2; j++)
        if (first + j < 7 * n) { at[j] = 7 * n - 1 - first - j; v[j] = in[first % 64]; } else at[j] = -1;
    Exchange(room).ScatterToStripedGuarded(v, at);
    for (int j = 0; j < 2; j++) if (threadIdx.x + 64 * j < 7 * n) out[threadIdx.x] = v[j];
}
