// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x];
    switch (n) {
        int before, *where;
    case 1:
        int scale;
        scale = 3;
        x += scale;
        break;
    case 5:
        scale = 2;
        before = x;
        where = &before;
    case 6:
        if (n == 5) x = *where * scale;
        else scale = 0;
        x -= scale;
        break;
    default:
        x = 0;
    }
    switch (n - 5) { case 1: { int inner; inner = x; x = inner; } case 0: int last; last = x + 1; x = last; }
    out[threadIdx.x] = x;
}
