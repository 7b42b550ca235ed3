// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 9 variable t
struct Item { char kind; int key; short n; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[64], u[64];
    int i = threadIdx.x;
    t[i].kind = 1; t[i].n = 2;
    __syncthreads();
    for (int b = i; b < 64 * sizeof(Item); b += 64) reinterpret_cast<char *>(u)[b] = reinterpret_cast<char *>(t)[b];
    __syncthreads();
    out[i] = u[i].key + u[i].kind + u[i].n;
}
