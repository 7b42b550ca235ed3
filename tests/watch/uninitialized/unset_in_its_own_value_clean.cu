// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
__device__ int start(int &x) { x = 2; return x + 1; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    int sum = (sum = in[threadIdx.x]) + 1, size = sizeof(size), *p = &sum;
    int first = start(first), second(start(second)), third{start(third)}, fourth, fifth = start(fourth);
    void *self = &self;
    { int x = n; { int y = x, x = y; out[threadIdx.x] = x; } }
    for (int i, j = start(i); j < 4; j++) sum += i;
    out[threadIdx.x] += *p + size + first + second + third + fourth + fifth + (self == &self);
}
