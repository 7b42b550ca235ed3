// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4], b[4], sum = 0;
    for (int i = 0; i < 4; ++i) a[i] = b[i] = n + i;
    *(a + 3) = in[threadIdx.x];
    for (int *p = a + 4; p > a; --p) sum += *(p - 1) + b[3];
    if (n > 100) *(a + 5) = 1;
    out[threadIdx.x] = *(b + 4 - 1) + sum;
}
