// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 7 variable x
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int t[64];
    int x, i = threadIdx.x;
    if (i < n) x = in[i];
    t[63 - i] = x;
    __syncthreads();
    int sum = 0;
    for (int j = 0; j < 2 * n; j++) sum += t[63 - j];
    out[i] = sum;
}
