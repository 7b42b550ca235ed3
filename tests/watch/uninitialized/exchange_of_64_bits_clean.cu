// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint64", 64], ["uint64", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const unsigned long long *in, unsigned long long *out) {
  int t = threadIdx.x;
  atomicExch(&out[t], in[t]);
  if (atomicExch(&out[t], in[t] + 1) != in[t]) out[t] = 0;
}
