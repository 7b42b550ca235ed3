// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 12]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int m[3][4];
    for (int i = 0; i < n; ++i) (&m[0][0])[i] = in[threadIdx.x] + i;
    int *flat = m[0], s = 0;
    for (int i = 0; i < n; ++i) s += flat[i];
    out[threadIdx.x] = s;
}
