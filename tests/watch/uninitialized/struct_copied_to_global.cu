// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["uint8", 1536, "out"], ["float64", 64, "out"]]}
// expect: uninitialized-read error line 9 variable s
struct Particle { char kind; double mass; int cell; };
extern "C" __global__ void k(const int *in, Particle *p, double *out) {
  __shared__ Particle s[64];
  int t = threadIdx.x;
  if (t < 32) s[t] = Particle{1, 2.0, in[t]};
  __syncthreads();
  p[t] = s[t];
  out[t] = p[t].mass;
}
