// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 20480, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: launch-failure error
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[8192];
  extern __shared__ float d[];
  s[threadIdx.x] = d[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[threadIdx.x] + d[threadIdx.x];
}
