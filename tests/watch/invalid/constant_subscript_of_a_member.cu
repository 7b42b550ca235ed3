// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access info line 7 variable p.body
struct Packet { int body[4]; int sum; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Packet p = {};
    for (int i = 0; i < 4; ++i) p.body[i] = in[i];
    p.body[4] = n;
    out[threadIdx.x] = p.body[n & 3] + p.sum;
}
