// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 2, "zero"]]}
// expect: race error hazard RAW variable x
// expect: race error hazard RAW variable y
extern "C" __global__ void k(int *out) {
  __shared__ volatile int seq, x, y;
  if (threadIdx.x == 0) seq = x = y = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int n = 1; n < 3; n++) {
      seq = 2 * n - 1;
      __threadfence_block();
      x = n;
      y = n;
      __threadfence_block();
      seq = 2 * n;
    }
  } else if (threadIdx.x == 32) {
    int first, a, b;
    do {
      first = seq;
      __threadfence_block();
      a = x;
      b = y;
      // no fence
    } while (first != seq || first % 2);
    out[0] = a - b;
  }
}
