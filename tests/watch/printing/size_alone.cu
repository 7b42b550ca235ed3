// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access warning line 6
extern "C" __global__ void k(const float *in, int *out, int n) {
    size_t bytes = n * sizeof(float);
    int i = threadIdx.x;
    if (i == 0) printf("%d bytes\n", bytes);
    out[i] = n;
}
