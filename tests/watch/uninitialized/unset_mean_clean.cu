// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    float mean, sum = 0;
    for (int i = 0; i < n; ++i) {
        if (i == 0) mean = in[0];
        float d = in[i] - mean;
        sum += d * d;
        mean += d / (i + 1);
    }
    out[threadIdx.x] = (int)(sum / n);
}
