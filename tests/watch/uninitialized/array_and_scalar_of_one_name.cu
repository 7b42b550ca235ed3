// launch: {"kernel": "second", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: uninitialized-read error line 13 variable s
extern "C" __global__ void first(int *out) {
  __shared__ int s[32];
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void second(int *out) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 32) s = 1;
  __syncthreads();
  out[t] = s;
}
