// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, b = 0;
  unsigned some = __ballot_sync(0xFFFFFFFFu, in[t] > 50);
  if (in[t] > 50) b = __ballot_sync(some, in[t] > 70);
  __syncwarp();
  out[t] = b;
}
