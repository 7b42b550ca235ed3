// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
__device__ auto adder(int x) {
    int twice = 2 * x;
    return [=](int a) { return a + twice; };
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    auto f = adder(in[threadIdx.x]);
    int local = n;
    auto g = [&](int a) { int b = a + local; auto h = [&] { return b++; }; return h() + h(); };
    out[threadIdx.x] = f(n) + g(n);
}
