// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    for (int r = 0; r < 1; r++) {
        if (t < 32) {
            s[t] = in[t];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[t] = s[63 - t];
        }
    }
}
