// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
struct Point { float x, y; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ float xs[64], ys[64];
    Point p; int i = threadIdx.x;
    p.x = 1; if (i < n) p.y = in[i];
    xs[i] = p.x; ys[i] = p.y;
    __syncthreads();
    out[i] = xs[63 - i] + (63 - i < n ? ys[63 - i] : 0);
}
