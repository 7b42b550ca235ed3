// launch: {"kernel": "shared_float4", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 512, "out"], 5]}
extern "C" __global__ void shared_float4(const float *in, float *out, int step) {
  __shared__ float4 s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = reinterpret_cast<const float4 *>(in)[i];
  __syncthreads();
  reinterpret_cast<float4 *>(out)[i] = s[(t * step) % 64];
}
