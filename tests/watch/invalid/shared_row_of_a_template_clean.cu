// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 4, 1], "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
template <typename T, int N>
__device__ T turned(const T *in) {
    __shared__ T part[N + 1][N];
    int x = threadIdx.x, y = threadIdx.y;
    if (y == 0 && x < N) part[N][x] = 0;
    if (x < N) part[y][x] = in[y * 16 + x];
    __syncthreads();
    return part[y][(x & N) % N];
}
extern "C" __global__ void k(const float *in, float *out) {
    __shared__ float part[5][5];
    int i = threadIdx.y * 16 + threadIdx.x;
    if (i < 25) part[i / 5][i % 5] = in[i];
    __syncthreads();
    out[i] = turned<float, 16>(in) + part[threadIdx.y][threadIdx.x & 4];
}
