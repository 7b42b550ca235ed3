// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cub/warp/warp_exchange.cuh>
using Exchange = cub::WarpExchange<int, 2, 32>;
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ Exchange::TempStorage memory[2];
    int t = threadIdx.x;
    int v[2] = {in[t], in[63 - t]};
    Exchange(memory[threadIdx.x / 32]).StripedToBlocked(v, v);
    out[t] = v[0];
}
