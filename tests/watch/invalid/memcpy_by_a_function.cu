// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: invalid-access error line 4
struct Row { int a[10]; };
__device__ __noinline__ void move(int *to, const int *from, int n) { memcpy(to, from, n * sizeof(int)); }
extern "C" __global__ void k(const int *in, int *out, int n) {
    Row r, s;
    for (int i = 0; i < 10; ++i) r.a[i] = in[i];
    s = r;
    move(r.a, r.a + 3, 7);
    out[threadIdx.x] = r.a[n] + s.a[n];
}
