// launch: {"kernel": "streaming_loads", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 512, "out"]]}
extern "C" __global__ void streaming_loads(const float4 *in, float4 *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 v = __ldcs(in + (i ^ 3));
  __stcs(out + i, make_float4(v.w, v.z, v.y, v.x));
}
