// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "inout"], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *x, float *out) {
  int t = threadIdx.x;
  ((float4 *)x)[t] = __ldg(&((const float4 *)in)[15 - t]);
  __syncthreads();
  out[t] = ((const float4 *)x)[15 - t].y;
}
