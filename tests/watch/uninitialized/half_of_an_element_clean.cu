// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int64", 32, "out"], 5]}
// expect: clean
struct Pair { unsigned low, high; };
extern "C" __global__ void k(const int *in, long long *out, int n) {
    unsigned long long pair[2];
    __shared__ Pair pairs[32];
    Pair own;
    own.low = n;
    pairs[threadIdx.x] = own;
    pair[0] = in[threadIdx.x];
    memcpy(&pair[1], &pair[0], 8);
    out[threadIdx.x] = pair[1] + pairs[threadIdx.x].low;
}
