// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
struct Span { const int *p; int n; };
__device__ int total(Span s) {
    int r = 0;
    for (int i = 0; i < s.n; i++)
        r += s.p[i];
    return r;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, sum = 0;
    Span s{in, n};
    if (in[t] > 20) {
        int mine[4];
        for (int i = 0; i < n; i++) mine[i] = in[t + i] * 2;
        s.p = mine;
        sum = total(s);
    } else sum = total(s);
    auto twice = [&](int by) { int x = by * sum; const int &y = x; return y + sum; };
    out[t] = twice(n);
}
