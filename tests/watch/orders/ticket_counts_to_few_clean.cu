// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: clean
extern "C" __global__ void k(int *data, int *flag, int *out) {
  data[blockIdx.x] = 1;
  __threadfence();
  atomicAdd(flag, 1);
  if (blockIdx.x != 3) return;
  while (atomicAdd(flag, 0) < 4) {}
  __threadfence();
  out[0] = data[0] + data[1] + data[2];
}
