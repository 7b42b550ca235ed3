// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const float *in, int *out, int n) {
    int i = threadIdx.x;
    if (i == 0) printf("in[%d] is %d, %.3f, %g and %x\n", i, (int)in[i], in[i], 2.0, __float_as_int(in[i]));
    out[i] = n;
}
