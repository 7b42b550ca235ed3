// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: clean
__device__ __noinline__ void bump(int *p, int by) { *p += by; }
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int *slot[64];
  int t = threadIdx.x, v[3] = {in[t], in[t + 1], t};
  slot[t] = v;
  bump(slot[t] + (in[t] & 1), 3);
  __syncthreads();
  bump(v, 1);
  out[t] = v[0] + v[in[t] & 1] + (slot[t ^ 1] != nullptr);
}
