// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ unsigned char flags[64];
  int t = threadIdx.x;
  if (t < 40) flags[t] = 0;
  __syncthreads();
  if (in[t] > 50) {
    // the only bit that is used is one that is set here
    out[t] = (flags[t] | 1) & 1;
  } else
    out[t] = 0;
}
