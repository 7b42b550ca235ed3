// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    int t = threadIdx.x;
    int w = 0;
    if (in[t] > 50) w = in[t];
    out[t] = w & 1;
}
