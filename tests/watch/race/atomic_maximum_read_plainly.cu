// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "args": [["int32", 4, "zero"]]}
// expect: race error line 5 hazard WAR variable m
extern "C" __global__ void k(int *m) {
    int v = threadIdx.x + blockIdx.x * 64;
    if (v > *m) atomicMax(m, v);
}
