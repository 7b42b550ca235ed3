// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int m[3][4], v[4], t = threadIdx.x;
  for (int i = 0; i < 12; i++) m[i / 4][i % 4] = in[i];
  for (int i = 0; i < 4; i++) v[i] = in[t];
  out[t] = m[in[t] % 3][in[t] & 3] + v[in[t + 1 & 63] & 3];
}
