// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 7 variable mine
struct Span { const int *p; int n; };
__device__ int total(Span s) {
    int r = 0;
    for (int i = 0; i < s.n; i++)
        r += s.p[i];
    return r;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x;
    Span s{in, n};
    if (in[t] > 20) {
        int mine[4];
        for (int i = 0; i < n; i++) mine[i] = in[t + i] * 2;
        s.p = mine;
    }
    out[t] = total(s);
}
