// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int a[4], b[4];
  int t = threadIdx.x, s = 0;
  for (int i = 0; i < 4; i++) { a[i] = in[i]; b[i] = 10 * i; }
  for (int i = 0; i < 4; i++)
    s += a[i ^ (t & 1)] + b[in[t] & 3];
  out[t] = s;
}
