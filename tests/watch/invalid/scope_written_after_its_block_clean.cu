// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, *p = nullptr, kept[2];
    for (int i = 0; i < n; i++) {
        int pair[2] = {in[t], i}, one = i;
        p = &pair[in[t] & 1];
        *p = 3;
        if (i > 2) {
            int *q = &one;
            *q += pair[0];
            if (in[t] & 2) {
                p = kept;
                break;
            }
            *p = *q;
        }
        do {
            int again[2] = {i, one}, *r = again;
            *r += pair[1];
            r[1] = 2;
            one += again[0] + 1;
        } while (one < 4);
        p = &kept[one & 1];
        kept[0] = kept[1] = one;
    }
    *p = 3;
    out[t] = *p;
}
