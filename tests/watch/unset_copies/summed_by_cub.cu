// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable v
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Reduce = cub::BlockReduce<int, 64>;
    __shared__ typename Reduce::TempStorage room;
    int v[2], i = threadIdx.x;
    v[0] = in[i];
    if (i < n) v[1] = in[i];
    int sum = Reduce(room).Sum(v);
    out[i] = i ? n : sum;
}
