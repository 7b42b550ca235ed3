// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 7
__device__ const int &larger(const int &a, const int &b) { return a < b ? b : a; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    const int &most = larger(in[threadIdx.x],
                             n + 1);
    out[threadIdx.x] = most * 2;
}
