// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int left[4], right[4], t = threadIdx.x;
  for (int i = 0; i < 4; i++) left[i] = right[i] = in[i];
  for (int i = 0; i < 4; i++) out[t] = right[i & (t | 1)] - left[in[t] & 3];
}
