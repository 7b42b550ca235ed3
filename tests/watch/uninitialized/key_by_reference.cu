// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 13 variable keys
// The last threads use the key behind the last one, too.
__device__ bool less(const int &a, const int &b) { return a < b; }
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int keys[66];
  int t = threadIdx.x;
  keys[t] = in[t];
  __syncthreads();
  int key = keys[t], best = key;
  for (int at = t; at <= 64 && at < t + 3;) {
    if (less(best, key)) best = key;
    key = keys[++at];
  }
  out[t] = best;
}
