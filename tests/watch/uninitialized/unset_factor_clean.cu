// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int scale, other;
    scale = n;
    other = scale * 2;
    out[threadIdx.x] = in[threadIdx.x] * scale + other;
}
