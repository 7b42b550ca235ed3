// launch: {"kernel": "two_words_a_bank", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 64, "out"]]}
extern "C" __global__ void two_words_a_bank(const float *in, float *out) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  s[t + 64] = in[t + 64];
  __syncthreads();
  out[t] = s[(t % 3) * 32] + s[(t & 1) * 64 + t / 8];
}
