// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
__device__ float get(const float *p, int i) {
  return p[i];
}
__device__ void put(float *p, int i, float v) {
  p[i] = v;
}
extern "C" __global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  int i = threadIdx.x;
  put(s, i, x[i]);
  __syncthreads();
  float v = get(s, 63 - i);
  __syncthreads();
  put(s, i, 2 * v);
  __syncthreads();
  y[i] = get(s, (i + 7) % 64);
}
