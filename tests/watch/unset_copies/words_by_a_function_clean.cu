// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
struct Item { char kind; int key; short n; };
template <typename T> __device__ void copy_words(T *to, const T *from) {
    const unsigned *f = reinterpret_cast<const unsigned *>(from);
    unsigned *g = reinterpret_cast<unsigned *>(to);
    for (int w = 0; w < sizeof(T) / 4; w++) g[w] = f[w];
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[64], u[64];
    int i = threadIdx.x;
    t[i].kind = 1; t[i].key = in[i]; t[i].n = 2;
    __syncthreads();
    copy_words(&u[i], &t[63 - i]);
    __syncthreads();
    out[i] = u[i].key + u[i].kind + u[i].n;
}
