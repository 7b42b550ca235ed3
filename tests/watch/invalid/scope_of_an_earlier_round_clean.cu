// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, sum = 0, last = 0;
    const int *before = &last;
    for (int i = 0; i < n; i++) {
        int square = in[t + i] * in[t + i];
        const int *present = &square;
        sum += *present - *before;
        for (int j = 0; j < 3; j++) {
            int part = square + j, *p = &part;
            *p += *present;
            if (j > i) continue;
            sum += *p;
        }
        last = square;
        before = i & 1 ? &last : before;
    }
    out[t] = sum + *before;
}
