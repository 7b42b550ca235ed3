// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 7 variable u
union Word { int w; short h[2]; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Word u;
    u.h[n & 0] = in[threadIdx.x];
    out[threadIdx.x] = u.w;
}
