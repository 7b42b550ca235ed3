// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 4]}
// expect: clean
__constant__ int mask[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
#define AT(m, i) (*m)[i]
extern "C" __global__ void k(const int *in, int *out, int n) {
    int i = blockIdx.x * 32 + threadIdx.x, sum = 0;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < n - 1; ++c) sum += mask[r][c] * in[i];
    for (int c = 0; c < 3 * n; ++c) sum += mask[c / 3][c % 3] + AT(mask, c);
    out[i] = sum;
}
