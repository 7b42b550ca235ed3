// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int place[64];
  int t = threadIdx.x, before;
  before = atomicExch(&place[t], t);
  out[t] = in[t];
  before = atomicExch(&place[t], t);
  if (t == 9) out[before & 63] = 1;
}
