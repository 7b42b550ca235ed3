// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float64", 64], ["uint64", 1, "zero"]]}
// expect: race warning variable best
extern "C" __global__ void k(const double *in, unsigned long long *best) {
  double v = fabs(in[blockIdx.x * 32 + threadIdx.x]);
  unsigned long long old = *best, seen;
  do {
    seen = old;
    if (__longlong_as_double(seen) >= v) break;
    old = atomicCAS(best, seen, __double_as_longlong(v));
  } while (old != seen);
}
