// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Item { char kind; int key, next; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[32];
    Item item;
    item.kind = 1;
    item.key = in[threadIdx.x];
    t[threadIdx.x] = item; __syncthreads();
    Item other = t[31 - threadIdx.x];
    other.next = n;
    out[threadIdx.x] = other.next + other.key + other.kind;
}
