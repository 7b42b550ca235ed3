// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
struct Cell { unsigned kind : 3, age : 5, energy : 12; };
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ Cell s[64];
  int t = threadIdx.x;
  s[t].kind = in[t];
  s[t].energy = 2 * in[t];
  __syncthreads();
  Cell own = s[63 - t];
  out[t] = own.kind + own.energy;
}
