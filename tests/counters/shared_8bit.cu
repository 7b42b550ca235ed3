// launch: {"kernel": "shared_8bit", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint8", 128], ["uint8", 128, "out"], 17]}
extern "C" __global__ void shared_8bit(const unsigned char *in, unsigned char *out, int step) {
  __shared__ unsigned char s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[i];
  __syncthreads();
  out[i] = s[(t * step) % 64];
}
