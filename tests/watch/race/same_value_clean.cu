// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[2];
  int t = threadIdx.x;
  if (t % 32 == 0) s[t / 32] = 1.0f;
  __syncthreads();
  out[t] = in[t] + s[t / 32];
}
