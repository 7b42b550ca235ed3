// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["uint8", 1024, "out"], 5]}
// expect: clean
struct Item { double mass; char kind; };
extern "C" __global__ void k(const int *in, Item *out, int n) {
    __shared__ Item t[64];
    int i = threadIdx.x;
    t[i].mass = in[i]; t[i].kind = 1; __syncthreads();
    for (int w = i; w < 64 * 4; w += 64) reinterpret_cast<unsigned *>(out)[w] = reinterpret_cast<unsigned *>(t)[w];
}
