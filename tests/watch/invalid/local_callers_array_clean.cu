// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 2]}
// expect: clean
__device__ int walk(int *up, int depth, int last) {
    int mine[3] = {depth, depth, depth};
    if (depth == 0) return up[0];
    up[last] = depth;
    return walk(mine, depth - 1, last) + mine[1];
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int top[4] = {0}, guard[4] = {1, 2, 3, 4};
    out[threadIdx.x] = walk(top, 3, n) + guard[in[threadIdx.x] & 3] + top[1];
}
