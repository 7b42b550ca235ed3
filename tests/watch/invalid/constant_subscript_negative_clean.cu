// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4] = {1, 2, 3, 4}, b[4] = {n, n, n, n};
    int *behind = b + 4;
    behind[-1] += in[threadIdx.x];
    out[threadIdx.x] = a[n & 3] + b[n & 3];
}
