// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 1, "zero"], ["uint32", 4, "out"]]}
// expect: clean
extern "C" __global__ void k(volatile unsigned *step, unsigned *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    step[0] = 1;
    step[0] = 2;
    step[0] = 3;
    out[0] = 0;
  } else {
    while (step[0] != 3) { }
    __threadfence();
    out[blockIdx.x] = step[0];
  }
}
