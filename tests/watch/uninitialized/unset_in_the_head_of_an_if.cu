// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 6 variable limit
// expect: uninitialized-read error line 8 variable last
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x];
    if (int limit; n > 2) x = min(x, limit);
    for (int last, i = 0; i < n; i++) {
        x += in[i] - last;
        last = in[i];
    }
    out[threadIdx.x] = x;
}
