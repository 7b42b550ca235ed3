// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#define HALO 1
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4], b[4];
    for (int i = 0; i < 4; ++i) a[i] = b[i] = n + i;
    int *inner = b + HALO;
    out[threadIdx.x] = *(inner - HALO) + a[n & 3] + in[0] + b[n & 3] + (n < 0 ? *(b - HALO) : 0);
}
