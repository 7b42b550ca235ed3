// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, *best = nullptr, candidates[3];
    if (n > 2) {
        for (int i = 0; i < 3; i++) candidates[i] = in[t + i];
        best = &candidates[in[t] & 1];
    }
    {
        int other[3] = {1, 2, 3}, *p = &other[t % 3];
        out[t] = *p;
        if (n > 1) {
            int scratch[2] = {*p, in[t]};
            p = &scratch[in[t] & 1];
            out[t] += *p;
        }
        p = other;
        out[t] += p[in[t] & 1];
    }
    out[t] += *best;
}
