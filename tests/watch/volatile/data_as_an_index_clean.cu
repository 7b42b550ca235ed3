// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 8, "zero"], ["int32", 8, "zero"]]}
// expect: clean
// An index that is published after its data, and looked at once.
extern "C" __global__ void k(volatile int *published, int *data, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[3] = 7;
    __threadfence();
    published[0] = 3;
  } else {
    int at = published[0];
    if (at == 0) return;
    __threadfence();
    out[0] = data[at];
  }
}
