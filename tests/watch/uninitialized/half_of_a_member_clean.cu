// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Pair { short a; int b; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Pair p, q[2];
    p.a = n;
    reinterpret_cast<short *>(&p.b)[0] = in[threadIdx.x];
    reinterpret_cast<short *>(&p.b)[1] = 0;
    q[n & 1] = p;
    out[threadIdx.x] = p.b + q[n & 1].b;
}
