// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access error line 6 variable unit
__device__ char unit[2] = {'m', 's'};
extern "C" __global__ void k(const float *in, int *out, int n) {
    int i = threadIdx.x;
    if (i == 0) printf("%d %s\n", n, unit);
    out[i] = n;
}
