// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const float *in, int *out, int n) {
    size_t bytes = n * sizeof(float);
    int i = threadIdx.x;
    if (i == 0) printf("%zu %lu %llu bytes, %d elements\n", bytes, bytes, bytes, n);
    out[i] = n;
}
