// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "zero"]]}
// expect: race error variable s
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ float4 s[64];
  int t=threadIdx.x;
  s[t]=make_float4(x[t],1,2,3);
  __syncthreads();
  if (t<32) s[t+32].z = 9; else { float4 v = s[t]; y[t] = v.x+v.y+v.w +v.z; } }
