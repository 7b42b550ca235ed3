// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 6 variable seen
extern "C" __global__ void k(const int *in, int *out) {
  bool seen[10]; char name[6]; int t = threadIdx.x;
  for (int i = 0; i < 10; i++) { seen[i] = false; name[i % 6] = i; }
  for (int i = 0; i < 20; i++) seen[in[i] % 11] = true;
  out[t] = seen[1] + name[in[t] % 6];
}
