// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 4]}
// expect: invalid-access info line 8 variable weights[...]
__device__ int weights[5][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
__constant__ int steps[3][3] = {{1, 0, 1}};
extern "C" __global__ void k(const int *in, int *out, int n) {
    int i = blockIdx.x * 32 + threadIdx.x, sum = 0;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c <= n; ++c) sum += weights[r][c] * in[i];
    out[i] = sum + steps[n & 1][i & 1];
}
