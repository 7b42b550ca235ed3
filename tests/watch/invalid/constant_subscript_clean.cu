// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4], b[4];
    for (int i = 0; i < 4; ++i) a[i] = b[i] = n + i;
    a[3] = in[threadIdx.x];
    int sum = 0;
    for (int *p = a; p != &a[4]; ++p) sum += *p + b[0];
    out[threadIdx.x] = sum + sizeof(a[5]);
}
