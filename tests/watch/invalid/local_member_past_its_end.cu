// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 4]}
// expect: invalid-access info line 6 variable s.body
struct S { int head, body[4], tail; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    S s = {in[threadIdx.x], {1, 2, 3, 4}, 5};
    s.body[n] = 6;
    out[threadIdx.x] = s.head + s.body[0] + s.tail;
}
