// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: race error variable data
extern "C" __global__ void k(int *data, int *flag, int *out) {
  int b = blockIdx.x;
  if (b < 2) {
    data[b] = 7;
    __threadfence();
    atomicExch(&flag[b], 1);
  } else {
    while (atomicAdd(&flag[1], 0) == 0) {}
    atomicAdd(&flag[0], 0);
    __threadfence();
    out[0] = data[0];
  }
}
