// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int place[64];
  int t = threadIdx.x;
  atomicExch(&place[t], t);
  out[t] = in[t];
  __syncthreads();
  if (t == 9) out[atomicExch(&place[t], t) & 63] = 1;
}
