// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 256], ["int32", 32], ["float32", 256, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, const int *shift, float *out) {
  __align__(16) float a[12];
  int t = threadIdx.x;
  for (int i = 0; i < 12; i++) a[i] = in[i] + t;
  float4 v = *(float4 *)(a + t % 3 * 4);
  ((float4 *)out)[2 * t] = v;
}
