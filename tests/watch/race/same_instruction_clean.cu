// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[2];
  int t = threadIdx.x;
  if (t % 32 == 31) s[t / 32] = in[t] + t;
  __syncthreads();
  out[t] = s[t / 32];
}
