// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 7 variable total
template <class T> struct Mean {
    T sum;
    __device__ T of(const int *in, int n) {
        T total;
        for (int i = 0; i < n; i++) total += in[i];
        return total / n;
    }
};
extern "C" __global__ void k(const int *in, int *out, int n) {
    Mean<float> mean;
    out[threadIdx.x] = mean.of(in, n);
}
