// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 5 variable v
extern "C" __global__ void k(const int *in, int *out, int n) {
    int v[4] = {0, 0, 0, 0};
    for (int i = 0; i < 8; i++) atomicAdd(&v[in[(threadIdx.x + i) & 31] & 3], 1);
    out[threadIdx.x] = v[0] * 1000 + v[1];
}
