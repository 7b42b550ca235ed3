// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
struct Span { const int *p; int n; };
struct Three {
    int a[3];
    __device__ operator Span() const { return {a, 3}; }
    __device__ Three &add(int x) { a[0] += x; return *this; }
};
__device__ Three three(int x) { return {{x, x + 1, x + 2}}; }
__device__ int total(Span s) {
    int sum = 0;
    for (int i = 0; i < s.n; i++) sum += s.p[i];
    return sum;
}
template <class F> __device__ int each(const F &f, int n) { int sum = 0; for (int i = 0; i < n; i++) sum += f(i); return sum; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    Three kept = three(in[threadIdx.x]);
    Span s = kept.add(1);
    int sum = total(three(n).add(2).add(3)) + each([&](int i) {
        const int &x = i + n, *p = &x;
        return *p + s.p[0];
    }, n);
    out[threadIdx.x] = sum + total(s) + total(three(sum));
}
