// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 5 variable h
extern "C" __global__ void k(const int *in, int *out, int n) {
    double h, *where, x = in[threadIdx.x];
    double slope = x / h;
    where = n < 0 ? &h : &x;
    out[threadIdx.x] = slope > 0 ? n : (int)*where;
}
