// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 6 variable side
enum class Side : unsigned char { LEFT, RIGHT };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Side side;
    out[threadIdx.x] = in[threadIdx.x] * (int)side;
}
