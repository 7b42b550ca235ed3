// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable v
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Load = cub::BlockLoad<int, 32, 2, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, 32, 2, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union { typename Load::TempStorage in; typename Store::TempStorage out; } room;
    int v[2];
    Load(room.in).Load(in, v, 50);
    __syncthreads();
    for (int j = 0; j < 2; j++) v[j] = v[j] * 2;
    Store(room.out).Store(out, v);
}
