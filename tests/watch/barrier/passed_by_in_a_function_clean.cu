// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
__device__ void publish(int *s, int v) {
  s[threadIdx.x] = v;
  __syncthreads();
}
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (in[0] < 150) publish(s, in[t]);
  else s[t] = 0;
  out[t] = s[t];
}
