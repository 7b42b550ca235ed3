// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 9 variable t
struct Item { char kind; int key; short n; };
__device__ Item kept[64];
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[64];
    int i = threadIdx.x;
    t[i].kind = 1; t[i].n = 2; __syncthreads();
    for (int w = i; w < 64 * 3; w += 64) reinterpret_cast<unsigned *>(kept)[w] = reinterpret_cast<unsigned *>(t)[w];
    __syncthreads();
    out[i] = kept[i].key + kept[i].kind + kept[i].n;
}
