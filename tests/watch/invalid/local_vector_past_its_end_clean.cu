// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 0]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    alignas(16) int a[6] = {1, 2, 3, 4, 5, 6}, b[4] = {5, 6, 7, 8};
    int4 v = *reinterpret_cast<int4 *>(a + n);
    out[threadIdx.x] = v.x + b[in[threadIdx.x] & 3] + a[5];
}
