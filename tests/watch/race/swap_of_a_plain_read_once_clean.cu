// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float64", 64], ["uint64", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const double *x, unsigned long long *sum) {
  double v = x[blockIdx.x * 32 + threadIdx.x];
  unsigned long long old = *sum;
  for (unsigned long long seen;
       (seen = atomicCAS(sum, old, __double_as_longlong(__longlong_as_double(old) + v))) != old;)
    old = seen;
}
