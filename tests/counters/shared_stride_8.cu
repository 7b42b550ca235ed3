// launch: {"kernel": "shared_stride_8", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"], 8]}
extern "C" __global__ void shared_stride_8(const float *in, float *out, int stride) {
  __shared__ float s[64 * 8];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t * 8] = in[i];
  __syncthreads();
  out[i] = s[(63 - t) * stride];
}
