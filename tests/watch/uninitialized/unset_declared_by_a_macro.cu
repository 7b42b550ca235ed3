// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 10
// expect: uninitialized-read error line 11
#define LOCAL(type, name) type name;
#define REAL float
#define COUNTER(name) int name
extern "C" __global__ void k(const int *in, int *out, int n) {
    LOCAL(REAL, scale)
    COUNTER(count);
    int x = in[threadIdx.x] * scale;
    out[threadIdx.x] = x - count;
}
