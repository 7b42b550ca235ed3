// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 9 variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  s[t].x = s[t].y = in[t];
  s[t].z = 1;
  __syncthreads();
  float4 v = s[63 - t];
  out[t] = v.x + v.y + v.w;
}
