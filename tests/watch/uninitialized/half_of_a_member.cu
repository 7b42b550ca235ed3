// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 8 variable p
struct Pair { int a, b; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Pair p;
    p.a = n;
    *reinterpret_cast<short *>(&p.b) = in[threadIdx.x];
    out[threadIdx.x] = p.b;
}
