// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int taken;
  int t = threadIdx.x;
  if (t == 9) atomicExch(&taken, in[9] & 0);
  __syncthreads();
  out[t] = in[t];
  if (t == 5 && !atomicExch(&taken, 1)) out[t] = 1;
}
