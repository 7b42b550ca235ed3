// launch: {"kernel": "shared_bytes_scattered", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint8", 128], ["uint8", 128, "out"]]}
extern "C" __global__ void shared_bytes_scattered(const unsigned char *in, unsigned char *out) {
  __shared__ unsigned char s[64 * 33];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t * 33] = in[i];
  __syncthreads();
  out[i] = s[(63 - t) * 33];
}
