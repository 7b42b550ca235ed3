// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 4, 1], "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: invalid-access info line 10 variable part[...]
template <typename T, int N>
__device__ T turned(const T *in) {
    __shared__ T part[N + 1][N];
    int x = threadIdx.x, y = threadIdx.y;
    if (y == 0 && x < N) part[N][x] = 0;
    if (x < N) part[y][x] = in[y * 16 + x];
    __syncthreads();
    return part[y][x & N];
}
extern "C" __global__ void k(const float *in, float *out) {
    out[threadIdx.y * 16 + threadIdx.x] = turned<float, 4>(in);
}
