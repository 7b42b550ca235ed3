// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [{"struct": [["float32", 64], 64, ["float32", 64, "out"]]}]}
// expect: invalid-access error line 7 variable p0.0
struct Row { const float *in; int n; float *out; };
extern "C" __global__ void k(Row p) {
  int t = threadIdx.x;
  if (t >= p.n) return;
  p.out[t] = p.in[t] + p.in[t + 1];
}
