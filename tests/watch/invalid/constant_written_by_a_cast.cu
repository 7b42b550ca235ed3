// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: invalid-access error line 6 variable weights
// expect: launch-failure error line 5
__constant__ int weights[4] = {1, 2, 3, 4};
__device__ __noinline__ void set(const int *p, int n) {
    *const_cast<int *>(p) = n;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    set(weights + (n & 3), n);
    out[threadIdx.x] = weights[n & 3];
}
