// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 1, "out"]]}
// expect: clean
// A state that only rises to one value, and a minimum.
extern "C" __global__ void k(const int *x, int *out) {
  __shared__ int least, state;
  if (threadIdx.x == 0) { least = 1 << 30; state = 0; }
  __syncthreads();
  int own = x[threadIdx.x] * 37 % 64;
  if (own < atomicAdd(&least, 0)) atomicMin(&least, own);
  if (atomicAdd(&state, 0) < 2) atomicExch(&state, 2);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = least + state;
}
