// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Span { int first, count; };
__device__ __noinline__ Span span(int n) {
    Span s;
    s.first = n;
    if (n > 9) s.count = 3;
    return s;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    Span s = span(n), t = s;
    out[threadIdx.x] = t.first + span(n + 6).count;
}
