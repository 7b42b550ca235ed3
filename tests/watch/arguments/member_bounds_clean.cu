// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [{"struct": [["float32", 64], 64, ["float32", 64, "out"]]}]}
// expect: clean
struct Row { const float *in; int n; float *out; };
extern "C" __global__ void k(Row p) {
  int t = threadIdx.x;
  if (t >= p.n) return;
  p.out[t] = p.in[t] + (t + 1 < p.n ? p.in[t + 1] : 0);
}
