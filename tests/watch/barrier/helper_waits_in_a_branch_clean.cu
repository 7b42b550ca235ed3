// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
__device__ void add(float *s, int t, int d) {
  if (t < d) s[t] += s[t + d];
  __syncthreads();
}
extern "C" __global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2)
    add(s, t, d);
  __syncthreads();
  y[t] = s[0];
}
