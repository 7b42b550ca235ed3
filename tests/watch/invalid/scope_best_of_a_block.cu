// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 13 variable candidates
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, *best = nullptr;
    if (n > 2) {
        int candidates[3] = {in[t], in[t + 1], in[t + 2]};
        best = &candidates[in[t] & 1];
    }
    {
        int other[3] = {1, 2, 3};
        out[t] = other[t % 3];
    }
    out[t] += *best;
}
