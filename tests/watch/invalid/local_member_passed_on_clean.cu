// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 4]}
// expect: clean
struct S { int head, body[4]; };
__device__ __noinline__ void fill(int *p, int n) {
    for (int i = 0; i < n; ++i) p[i] = i;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    S s, t = {1, {2, 3, 4, 5}};
    s.head = n;
    fill(s.body, n);
    out[threadIdx.x] = s.body[in[threadIdx.x] & 3] + s.head + t.body[1];
}
