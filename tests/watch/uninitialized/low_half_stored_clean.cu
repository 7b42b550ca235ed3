// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
struct S { bool b; char c; short s; int i; };
__device__ S made(int i) {
    S v;
    v.i = i;
    if (i < 0) { v.b = true; v.c = 1; v.s = 3; }
    return v;
}
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ S s[64];
    int t = threadIdx.x;
    s[t] = made(in[t] & 127);
    __syncthreads();
    S u = s[t ^ 1];
    if (u.i < 0) u.i += u.s;
    out[t] = u.i & 65535;
}
