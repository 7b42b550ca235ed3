// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#define TAPS 3
extern "C" __global__ void k(const int *in, int *out, int n) {
    constexpr int last = 2 * TAPS - 1;
    int before[2] = {n, n}, weights[6];
    for (int i = 0; i <= last; ++i) weights[i] = in[i];
    out[threadIdx.x] = weights[n] + weights[last] + before[n & 1];
}
