// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 8 variable last
extern "C" __global__ void k(const int *in, int *out, int n) {
    int i = 0, sum = 0;
    do {
        int last;
        if (i != 2) last = in[i];
        sum += last * 3;
    } while (++i < n);
    out[threadIdx.x] = sum;
}
