// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 10 variable x
__device__ __noinline__ int *first(int v) {
    int x[4] = {v, v, v, v}, *p = x;
    asm volatile("" : "+l"(p));
    return p;
}
__device__ __noinline__ int second(int *p, int v) {
    int y[4] = {v, 1, 2, 3};
    return y[v & 3] + *p;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int *p = first(in[threadIdx.x]);
    out[threadIdx.x] = second(p, in[threadIdx.x]);
}
