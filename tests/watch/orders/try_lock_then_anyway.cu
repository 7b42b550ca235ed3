// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: race error variable data
extern "C" __global__ void k(int *data, int *flag, int *out) {
  for (int tries = 0; tries < 2 && atomicCAS(flag, 0, 1) != 0; ++tries) {}
  __threadfence();
  data[0] = data[0] + 1;
  __threadfence();
  atomicExch(flag, 0);
}
