// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
struct Three {
    int a[3];
    __device__ const int *begin() const { return a; }
    __device__ const int *end() const { return a + 3; }
};
__device__ Three three(int x) { return {{x, x + 1, x + 2}}; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    const Three &kept = three(in[threadIdx.x]);
    const int &second = three(n).a[1], *p = kept.a;
    int sum = three(n).a[n & 1];
    for (int x : three(n))
        sum += x;
    for (auto &x : three(n)) {
        auto [a, b, c] = three(x).a;
        const auto &[d, e, f] = three(a).a;
        sum += a + b + c;
        sum += d + e + f;
        sum += x;
    }
    out[threadIdx.x] = p[n & 1] * 2 + second + sum;
}
