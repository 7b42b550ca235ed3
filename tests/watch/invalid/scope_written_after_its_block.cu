// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 11 variable pair
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, *p = nullptr;
    out[t] = n;
    if (in[t] > 0) {
        int pair[2] = {in[t], n};
        p = &pair[in[t] & 1];
        out[t] = *p;
    }
    if (p) *p = 3;
    out[t] += n;
}
