// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "args": [["int32", 4, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *m) {
    int v = threadIdx.x + blockIdx.x * 64;
    if (v > atomicAdd(m, 0)) atomicMax(m, v);
}
