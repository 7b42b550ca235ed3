// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 0]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  const float *p = (const float *)(unsigned long long)(in + n);
  out[threadIdx.x] = p[threadIdx.x];
}
