// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 10 variable v
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void k(const int *in, int *out, int n) {
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Reduce::TempStorage room;
    int v;
    if (threadIdx.x < 8) v = in[threadIdx.x];
    int sum = Reduce(room).Sum(v);
    out[threadIdx.x] = threadIdx.x ? n : sum;
}
