// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "inout"], ["int32", 64, "out"]]}
// expect: timeout error
extern "C" __global__ void k(int *flag, int *out) {
  int t = threadIdx.x;
  long long start = clock64();
  int late = 0;
  while (atomicAdd(flag, 0) != 1000 && !late) {
    long long now = clock64();
    late = now - start > 200000; start = now;
  }
  out[t] = late;
}
