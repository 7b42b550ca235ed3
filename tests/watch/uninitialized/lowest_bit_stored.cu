// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 7 variable w
extern "C" __global__ void k(const int *in, int *out) {
    int t = threadIdx.x;
    int w;
    if (in[t] > 50) w = in[t];
    out[t] = w & 1;
}
