// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    auto f = [&](int t) {
        int r = 0;
        if (in[t] > 50) r = 1;
        return r;
    };
    out[threadIdx.x] = f(threadIdx.x);
}
