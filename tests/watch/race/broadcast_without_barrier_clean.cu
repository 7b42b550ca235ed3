// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float first;
  if (threadIdx.x == 0) first = in[0];
  __syncthreads();
  out[threadIdx.x] = first;
}
