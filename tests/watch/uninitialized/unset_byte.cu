// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 6 variable weight
extern "C" __global__ void k(const int *in, int *out, int n) {
    unsigned char weight;
    bool flag;
    int sum = in[threadIdx.x] - weight * 2;
    if (n == 5) flag = sum > 3;
    out[threadIdx.x] = flag ? sum : n;
}
