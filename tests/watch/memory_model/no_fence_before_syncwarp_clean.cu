// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: clean
__device__ int data[32]; __device__ int flag;
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  if (t >= 32) return;
  if (blockIdx.x == 0) { data[t] = in[t]; __threadfence(); __syncwarp(); if (t == 7) atomicExch(&flag, 1); }
  else { if (t == 3) while (atomicAdd(&flag, 0) == 0); __syncwarp(); __threadfence(); out[t] = data[t]; }
}
