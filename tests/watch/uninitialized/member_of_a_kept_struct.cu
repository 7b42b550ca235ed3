// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 10 variable kept
struct Item { short kind; double key; int next; };
__device__ Item kept[32];
extern "C" __global__ void k(const int *in, int *out, int n) {
    Item item;
    item.kind = 1;
    item.next = in[threadIdx.x];
    kept[threadIdx.x] = item; __syncthreads();
    out[threadIdx.x] = kept[31 - threadIdx.x].key > 0;
}
