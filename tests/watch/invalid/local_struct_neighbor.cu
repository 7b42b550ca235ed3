// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 7 variable low
struct Pair { int key, value; };
extern "C" __global__ void k(const int *in, int *out) {
  Pair low[3], high[3]; int t = threadIdx.x;
  for (int i = 0; i < 3; i++) low[i] = high[i] = Pair{in[i], i};
  out[t] = low[in[t] % 4].key + high[in[t] % 3].value;
}
