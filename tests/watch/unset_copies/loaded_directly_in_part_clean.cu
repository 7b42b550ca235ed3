// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    int v[2], i = threadIdx.x;
    cub::LoadDirectBlocked(i, in, v, 50);


    for (int j = 0; j < 2; j++) v[j] = v[j] * 2 + n;
    cub::StoreDirectBlocked(i, out, v, 50);
}
