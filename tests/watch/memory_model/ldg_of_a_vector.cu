// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "inout"], ["float32", 64, "out"]]}
// expect: race error line 7 variable x
extern "C" __global__ void k(const float *in, float *x, float *out) {
  int t = threadIdx.x;
  ((float4 *)x)[t] = make_float4(t, t, t, t);
  __syncthreads();
  out[t] = __ldg(&((const float4 *)x)[15 - t]).y;
}
