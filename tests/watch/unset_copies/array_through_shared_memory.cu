// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: uninitialized-read error line 10 variable t
#include <cuda/std/array>
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ cuda::std::array<int, 4> t[64];
    int i = threadIdx.x;
    cuda::std::array<int, 4> a;
    a[0] = in[i]; if (i < n) a[1] = 1;
    t[i] = a; __syncthreads();
    auto b = t[63 - i];
    out[i] = b[0] + (i < n ? b[1] : 0);
}
