// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 8 variable s
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int t[64];
    int i = threadIdx.x;
    short s[2];
    s[0] = in[i]; if (i < n) s[1] = 1;
    for (int j = 0; j < 2; j++) reinterpret_cast<short *>(t)[2 * i + j] = s[j];
    __syncthreads();
    out[i] = t[63 - i];
}
