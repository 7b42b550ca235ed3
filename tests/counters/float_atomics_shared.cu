// launch: {"kernel": "float_atomics_shared", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 64, "out"]]}
extern "C" __global__ void float_atomics_shared(const float *in, float *out) {
  __shared__ int most[32];
  int t = threadIdx.x;
  if (t < 32) most[t] = 0;
  __syncthreads();
  atomicMax(&most[t / 4], (int)(in[blockIdx.x * 64 + t] * 100) & 255);
  __syncthreads();
  if (t < 32) out[blockIdx.x * 32 + t] = most[t];
}
