// launch: {"kernel": "vector_float4", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 1000], ["float32", 1000, "out"], 250]}
extern "C" __global__ void vector_float4(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reinterpret_cast<float4 *>(out)[i] = reinterpret_cast<const float4 *>(in)[i];
}
