// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[65]; int t = threadIdx.x; s[t] = in[t];
  if (t == 0) s[64] = 0;
  __syncthreads();
  out[t] = s[t + 1] - in[t];
}
