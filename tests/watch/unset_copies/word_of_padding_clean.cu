// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 256, "out"], 5]}
// expect: clean
struct Item { double mass; char kind; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Item t[64], u[64];
    int i = threadIdx.x;
    t[i].mass = in[i]; t[i].kind = 1; __syncthreads();
    for (int w = i; w < 64 * 4; w += 64) reinterpret_cast<int *>(u)[w] = reinterpret_cast<int *>(t)[w];
    __syncthreads();
    for (int w = i; w < 64 * 4; w += 64) out[w] = w % 4 == 3 ? 0 : u[w / 4].mass;
}
