// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  float4 v = *(const float4 *)(in + 4 * threadIdx.x);
  out[threadIdx.x] = v.x + v.w;
}
