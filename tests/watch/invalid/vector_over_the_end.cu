// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 62], ["float32", 16, "out"]]}
// expect: invalid-access error line 4 variable in
extern "C" __global__ void k(const float *in, float *out) {
  float4 v = *(const float4 *)(in + 4 * threadIdx.x);
  out[threadIdx.x] = v.x + v.w;
}
