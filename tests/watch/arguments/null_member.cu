// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [{"struct": [["float32", 64], null, 64]}, ["float32", 64, "out"]]}
// expect: invalid-access error line 7
struct Layer { const float *weights; float *cache; int n; };
extern "C" __global__ void k(Layer p, float *out) {
  int t = threadIdx.x;
  if (t >= p.n) return;
  p.cache[t] = p.weights[t];
  out[t] = p.weights[t];
}
