// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64, "inout"]]}
// expect: race error variable s
extern "C" __global__ void k(int *v) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = v[t];
  s[t + 32] = v[t + 32];
  __syncwarp();
  for (int p = 0; p < 64; ++p) {
    int i = 2 * t + (p & 1);
    if (i + 1 < 64 && s[i] > s[i + 1]) {
      int x = s[i];
      s[i] = s[i + 1];
      s[i + 1] = x;
    }
  }
  __syncwarp();
  v[t] = s[t];
  v[t + 32] = s[t + 32];
}
