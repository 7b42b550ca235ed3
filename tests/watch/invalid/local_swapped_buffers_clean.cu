// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 0]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int even[4] = {1, 2, 3, 4}, odd[4] = {0}, *cur = even, *next = odd;
    for (int step = 0; step < 3; ++step) {
        for (int i = 0; i < 4; ++i)
            next[i] = cur[i] + cur[(i + 1) & 3];
        int *t = cur; cur = next; next = t;
    }
    out[threadIdx.x] = cur[in[threadIdx.x] & 3] + n;
}
