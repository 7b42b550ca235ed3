// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#define LOCAL(type, name) type name;
#define COUNTER(name) int name
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x], scale = 1;
    switch (scale) { LOCAL(int, scale) case 1: scale = 2; x += scale; break; case 2: scale = 3; x -= scale; }
    switch (n) {
        LOCAL(float, factor) COUNTER(count);
    case 1:
        COUNTER(other);
        other = 3;
        x += other;
        break;
    case 5:
        factor = 2;
        count = 1;
        other = count;
    case 6: x = n == 5 ? x * factor + other : 0;
    }
    out[threadIdx.x] = x + scale;
}
