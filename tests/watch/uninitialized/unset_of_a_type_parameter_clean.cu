// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Pair {
    int a, b;
    __device__ Pair() {}
    __device__ Pair(int x) : a(x), b(x) {}
    __device__ void operator+=(int x) { a += x; b -= x; }
    __device__ Pair operator/(int x) const { Pair r; r.a = a / x; r.b = b / x; return r; }
    __device__ operator int() const { return a + b; }
};
enum Kind { NONE, SOME };
template <class T> struct Mean {
    __device__ T of(const int *in, int n) {
        T total, copy;
        total = 0;
        for (int i = 0; i < n; i++) total += in[i];
        copy = total;
        return copy / n;
    }
};
template <class T> __device__ void get(T &x) { x = T(1); }
template <class T> __device__ T one() { T x, *p; get(x); p = &x; return *p; }
template <class T, int N> __device__ T last() { T x[N]; for (int i = 0; i < N; i++) x[i] = T(i); return x[N - 1]; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    auto f = [](auto a) { decltype(a) b; b = a; return b; };
    out[threadIdx.x] = Mean<float>().of(in, n) + Mean<double>().of(in, n) + Mean<int>().of(in, n) + Mean<short>().of(in, n)
        + Mean<unsigned char>().of(in, n) + Mean<long long>().of(in, n) + int(Mean<Pair>().of(in, n)) + one<bool>()
        + one<Kind>() + last<float, 3>() + f(2) + f(1.5f);
}
