// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Point { float x, y; };
struct Body { Point at; char kind; Point to; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Body t[32];
    Body b;
    b.at = Point{1, 2};
    b.to.x = n;
    t[threadIdx.x] = b; __syncthreads();
    Point p = t[31 - threadIdx.x].to;
    out[threadIdx.x] = (int)(t[31 - threadIdx.x].at.y + p.x);
}
