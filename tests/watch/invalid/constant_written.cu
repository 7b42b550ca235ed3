// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: invalid-access error line 6 variable table
__constant__ int table[32];

extern "C" __global__ void k(const int *in, int *out) {
    ((int *)table)[threadIdx.x] = 1;
    out[threadIdx.x] = in[threadIdx.x] + table[threadIdx.x];
}
