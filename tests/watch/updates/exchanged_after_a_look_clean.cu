// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
// Each block waits for its turn, which the value itself is.
extern "C" __global__ void k(int *n) {
  if (threadIdx.x) return;
  for (int seen = atomicAdd(n, 0);; seen = atomicAdd(n, 0))
    if (seen % 4 == blockIdx.x) {
      atomicExch(n, seen + 1);
      break;
    }
}
