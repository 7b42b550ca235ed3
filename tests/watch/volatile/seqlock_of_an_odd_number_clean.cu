// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 2, "zero"]]}
// expect: clean
__device__ volatile int seq, x, y;
extern "C" __global__ void k(int *out) {
  if (blockIdx.x == 0) {
    for (int n = 1; n < 3; n++) {
      seq = 2 * n - 1;
      __threadfence();
      x = n;
      y = n;
      __threadfence();
      seq = 2 * n;
    }
  } else {
    int first, a, b;
    do {
      first = seq;
      __threadfence();
      a = x;
      b = y;
      __threadfence();
    } while (first != seq || first % 2);
    out[0] = a - b;
  }
}
