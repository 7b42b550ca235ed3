// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 6 variable count
extern "C" __global__ void k(const int *in, int *out) {
  int count[5], last[3] = {1, 2, 3}; int t = threadIdx.x;
  for (int i = 0; i < 5; i++) count[i] = 0;
  for (int i = 0; i < 9; i++) count[in[t] % 7] += in[i];
  out[t] = count[0] + last[t % 3];
}
