// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 12 variable scale
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x];
    switch (n) {
    case 1:
        int scale;
        scale = 3;
        x += scale;
        break;
    case 5:
        x *= scale;
    }
    out[threadIdx.x] = x;
}
