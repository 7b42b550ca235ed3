// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float32", 32, "out"]]}
// expect: uninitialized-read error line 11 variable p
struct Particle { float at; int id; bool alive; };
extern "C" __global__ void k(const float *x, float *y) {
  __shared__ Particle p[32];
  int t = threadIdx.x;
  p[t].at = x[t];
  p[t].id = t;
  if (x[t] > 0) p[t].alive = true;
  __syncthreads();
  Particle q = p[31 - t];
  y[t] = q.alive ? q.at : 0;
}
