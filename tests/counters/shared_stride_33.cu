// launch: {"kernel": "shared_stride_33", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"], 33]}
extern "C" __global__ void shared_stride_33(const float *in, float *out, int stride) {
  __shared__ float s[64 * 33];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t * 33] = in[i];
  __syncthreads();
  out[i] = s[(63 - t) * stride];
}
