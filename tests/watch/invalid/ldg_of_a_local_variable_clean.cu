// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int v[4] = {__ldg(&in[0]), in[1], in[2], in[3]};
    out[threadIdx.x] = v[in[threadIdx.x] & 3];
}
