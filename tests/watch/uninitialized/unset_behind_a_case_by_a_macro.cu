// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 13
#define LOCAL(type, name) type name;
#define COUNTER(name) int name
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x];
    switch (n) {
        LOCAL(float, scale)
    case 1:
        scale = 3;
        x += scale;
        break;
    case 5: x *= scale;
    }
    out[threadIdx.x] = x;
}
