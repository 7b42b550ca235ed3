// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float4 s[64]; int t = threadIdx.x;
  float4 v;
  v.x = in[t];
  v.y = v.x * 2;
  v.z = v.x * 3;
  s[t] = v;
  __syncthreads();
  out[t] = s[63 - t].x + s[63 - t].z;
}
