// launch: {"kernel": "second", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void first(int *out) {
  __shared__ short s[512];
  s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void second(int *out) {
  __shared__ int s[16][16];
  int t = threadIdx.x;
  s[t % 4][t / 4] = t;
  __syncthreads();
  out[t] = s[t / 8][t % 8];
}
