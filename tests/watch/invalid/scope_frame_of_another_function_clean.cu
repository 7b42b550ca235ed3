// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
__device__ __noinline__ int *first(int *x, int v) {
    int own[2] = {v, v}, *p = own;
    for (int i = 0; i < 4; i++) x[i] = p[i & 1];
    p = x;
    asm volatile("" : "+l"(p));
    return p;
}
__device__ __noinline__ int second(int *p, int v) {
    int y[4] = {v, 1, 2, 3};
    return y[v & 3] + *p;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x[4];
    int *p = first(x, in[threadIdx.x]);
    out[threadIdx.x] = second(p, in[threadIdx.x]);
}
