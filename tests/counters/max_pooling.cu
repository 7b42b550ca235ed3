// launch: {"kernel": "max_pooling", "grid": [1, 1, 2], "block": [8, 8, 1], "shared": 0, "args": [["float32", 512], ["float32", 128, "out"]]}
extern "C" __global__ void max_pooling(const float *in, float *out) {
  const float2 *row = reinterpret_cast<const float2 *>(in + blockIdx.z * 256 + threadIdx.y * 32);
  float2 a = row[threadIdx.x], b = row[threadIdx.x + 8];
  out[(blockIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}
