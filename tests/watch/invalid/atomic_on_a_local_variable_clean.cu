// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int all[4];
    int v[4] = {0, 0, 0, 0};
    if (threadIdx.x < 4) all[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < 8; i++) v[in[(threadIdx.x + i) & 31] & 3] += 1;
    for (int i = 0; i < 4; i++) atomicAdd(&all[i], v[i]);
    __syncthreads();
    out[threadIdx.x] = v[0] * 1000 + v[1] + all[2];
}
