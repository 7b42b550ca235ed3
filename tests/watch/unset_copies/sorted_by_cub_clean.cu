// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/block/block_radix_sort.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Sort = cub::BlockRadixSort<int, 64, 2>;
    __shared__ typename Sort::TempStorage room;
    int v[2], i = threadIdx.x;
    v[0] = in[i];
    if (i < n) v[1] = in[i];
    else v[1] = 1 << 30;
    Sort(room).Sort(v);
    out[i] = v[0];
}
