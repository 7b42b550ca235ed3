// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
struct Pair {
    int a, b;
    __device__ Pair(int x, int y) : a(x), b(y) {}
    __device__ __forceinline__ Pair operator+(const Pair &p) const { return Pair(a + p.a, b + p.b); }
};
__device__ const int &larger(const int &a, const int &b) { return a < b ? b : a; }
__device__ __forceinline__ const Pair &larger(const Pair &a, const Pair &b) { return a.a < b.a ? b : a; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    int most = larger(in[threadIdx.x],
                      n + 1);
    const int &kept = n * 2, &same = larger(most, kept);
    const Pair &sum = Pair(n, most) + larger(Pair(1, 2),
                                             Pair(2, 3));
    Pair &&other = Pair(kept, same) + sum;
    if (larger(Pair(n, 2),
               other).b > 3 &&
        larger(n + 1,
               3) > 2)
        most += larger(sum, other).a;
    out[threadIdx.x] = most * 2 + sum.b + other.b;
}
