// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["uint8", 1536, "out"], ["float64", 64, "out"]]}
// expect: clean
struct Particle { char kind; double mass; int cell; };
extern "C" __global__ void k(const int *in, Particle *p, double *out) {
  __shared__ Particle s[64];
  int t = threadIdx.x;
  s[t].kind = 1;
  s[t].mass = in[t];
  __syncthreads();
  p[t] = s[63 - t];
  out[t] = p[t].mass + p[t].kind;
}
