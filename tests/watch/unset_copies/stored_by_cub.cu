// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 9 variable v
#include <cub/block/block_store.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Store = cub::BlockStore<int, 32, 2, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ typename Store::TempStorage room;
    int v[2], i = threadIdx.x;
    for (int j = 0; j < 2; j++) if (2 * i + j < 50) v[j] = in[2 * i + j];
    Store(room).Store(out, v);
}
