// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 2, "zero"]]}
// expect: clean
__device__ volatile int flag[64], turn;
__device__ int count;
extern "C" __global__ void k(int *out) {
  int me = blockIdx.x, other = 1 - me;
  for (int n = 0; n < 3; n++) {
    flag[32 * me] = 1;
    __threadfence();
    turn = other;
    __threadfence();
    while (flag[32 * other] && turn == other) {}
    __threadfence();
    count++;
    __threadfence();
    flag[32 * me] = 0;
  }
  out[me] = me;
}
