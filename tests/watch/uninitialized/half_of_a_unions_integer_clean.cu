// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
union Word { int w; short h[2]; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Word t[32];
    Word u, v;
    u.h[n & 0] = in[threadIdx.x];
    v.h[0] = n;
    v.h[n & 1] = 2;
    t[threadIdx.x] = u; __syncthreads();
    t[31 - threadIdx.x].h[1] = 1; __syncthreads();
    out[threadIdx.x] = t[threadIdx.x].w + v.w;
}
