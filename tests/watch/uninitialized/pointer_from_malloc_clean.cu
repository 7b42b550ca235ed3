// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    int **p = (int **)malloc(16);
    p[1] = out + threadIdx.x;
    *p[1] = 3;
    out[threadIdx.x] = in[threadIdx.x];
    free(p);
}
