// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/block/block_radix_sort.cuh>
extern "C" __global__ void k(const int *in, int *out, int n) {
    using Sort = cub::BlockRadixSort<int, 64, 1, int>;
    __shared__ typename Sort::TempStorage room;
    int v[1], u[1], i = threadIdx.x;
    v[0] = i < n ? i : 100 + i;
    if (i < n) u[0] = in[i];

    Sort(room).Sort(v, u);
    out[i] = v[0] < n ? u[0] : 0;
}
