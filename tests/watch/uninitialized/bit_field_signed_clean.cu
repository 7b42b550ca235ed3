// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
struct Move { int dx : 4, dy : 4; long long far : 40; };
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ Move s[64];
  int t = threadIdx.x;
  s[t].dy = in[t];
  s[t].dx = -1;
  out[t] = s[t].dx * s[t].dy;
}
