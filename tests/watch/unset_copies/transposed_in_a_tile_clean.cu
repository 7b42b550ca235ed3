// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int t[128];
    int v[2], i = threadIdx.x;
    if (i < 32) { v[0] = in[i]; v[1] = in[i + 1]; }
    for (int j = 0; j < 2; j++) t[2 * i + j] = v[j];
    __syncthreads();
    for (int j = 0; j < 2; j++) v[j] = t[64 * j + i];
    out[i] = 2 * v[0];
}
