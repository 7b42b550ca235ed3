// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
#include <cub/util_ptx.cuh>
struct Item { double mass; char kind; int key; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[64];
    int i = threadIdx.x;
    t[i].mass = in[i]; t[i].key = 2; t[i].kind = 1; __syncthreads();
    Item item = cub::ShuffleIndex<32>(t[63 - i], i ^ 1, 0xffffffff);
    int sum = item.mass + item.kind;
    out[i] = sum + item.key;
}
