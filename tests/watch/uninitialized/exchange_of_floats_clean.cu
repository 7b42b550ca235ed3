// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float most[64];
  int t = threadIdx.x;
  float before = in[t];
  if (t < 99) atomicExch(&most[t], before);
  before = atomicExch(&most[t], 0.0f);
  out[t] = fmaxf(before, in[t]);
}
