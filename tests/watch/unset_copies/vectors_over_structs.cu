// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable u
struct alignas(16) Item { char kind; double mass; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[64], u[64];
    int i = threadIdx.x;
    t[i].mass = in[i]; __syncthreads();
    *reinterpret_cast<int4 *>(&u[i]) = *reinterpret_cast<int4 *>(&t[63 - i]);
    __syncthreads();
    out[i] = u[i].mass + u[i].kind;
}
