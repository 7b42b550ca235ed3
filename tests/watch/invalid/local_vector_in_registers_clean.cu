// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 256], ["int32", 32], ["float32", 256, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, const int *shift, float *out) {
  char c[3];
  __align__(16) float a[8];
  int t = threadIdx.x;
  for (int i = 0; i < 3; i++) c[i] = i + t;
  *(float4 *)a = ((const float4 *)in)[2 * t];
  *(float4 *)(a + 4) = ((const float4 *)in)[2 * t + 1];
  for (int i = 0; i < 8; i++) out[8 * t + i] = a[i] * c[i % 3];
}
