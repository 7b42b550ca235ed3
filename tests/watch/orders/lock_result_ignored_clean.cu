// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: clean
extern "C" __global__ void k(int *data, int *flag, int *out) {
  while (atomicCAS(flag, 0, 1) != 0) {}
  __threadfence();
  data[0] = data[0] + 1;
  __threadfence();
  atomicExch(flag, 0);
}
