// launch: {"kernel": "float3_structs", "grid": [4, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["float32", 1152], ["float32", 1152, "out"]]}
extern "C" __global__ void float3_structs(const float3 *in, float3 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float3 p = in[i];
  out[i] = make_float3(p.z, p.x, p.y);
}
