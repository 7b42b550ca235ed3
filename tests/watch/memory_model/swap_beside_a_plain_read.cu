// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: race error line 8 variable flag
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int flag; int t = threadIdx.x;
  if (t == 0) flag = 1;
  __syncthreads();
  if (t == 40) atomicCAS(&flag, 1, 9);
  out[t] = flag;
}
