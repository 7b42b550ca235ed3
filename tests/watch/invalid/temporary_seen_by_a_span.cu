// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 13
struct Span { const int *p; int n; };
struct Three {
    int a[3];
    __device__ operator Span() const { return {a, 3}; }
};
__device__ Three three(int x) { return {{x, x + 1, x + 2}}; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    Span s = three(in[threadIdx.x]);
    int sum = 0;
    for (int i = 0; i < s.n; i++)
        sum += s.p[i];
    out[threadIdx.x] = sum;
}
