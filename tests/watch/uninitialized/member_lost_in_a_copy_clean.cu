// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["uint8", 1536, "out"], ["float64", 64, "out"]]}
// expect: clean
struct Particle { char kind; double mass; int cell; };
extern "C" __global__ void k(const int *in, Particle *p, double *out) {
  int t = threadIdx.x;
  Particle q;
  q.kind = 1;
  q.mass = in[t];
  p[t] = q;
  __syncthreads();
  if (t < 63)
    out[t] = p[t].mass + p[t + 1].kind;
  else out[t] = 0;
}
