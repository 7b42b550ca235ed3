// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 8 variable row
extern "C" __global__ void k(const int *in, int *out, int n) {
    unsigned row, column = threadIdx.x % 8;
    if (n > 5) {
        row = threadIdx.x / 8;
        out[threadIdx.x] = in[row * 8 + column];
    } else out[threadIdx.x] = in[(row * 8 + column) % 32];
}
