// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 256], ["int32", 32], ["float32", 256, "out"]]}
// expect: invalid-access warning line 8 variable a
// expect: uninitialized-read error line 9 variable a
extern "C" __global__ void k(const float *in, const int *shift, float *out) {
  char c[3];
  float a[5];
  for (int i = 0; i < 3; i++) c[i] = i + threadIdx.x;
  *(float4 *)a = ((const float4 *)in)[threadIdx.x];
  for (int i = 0; i < 5; i++) out[8 * threadIdx.x + i] = a[i] * c[i % 3];
}
