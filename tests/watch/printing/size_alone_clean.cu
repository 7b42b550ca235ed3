// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const float *in, int *out, int n) {
    long bytes = n * sizeof(float);
    long long more = bytes;
    int i = threadIdx.x;
    if (i == 0) printf("%lld %ld %d bytes, %c, %hd, %hhu\n", bytes, more, (int)bytes, 'a' + i, (short)n, (unsigned char)i);
    out[i] = n;
}
