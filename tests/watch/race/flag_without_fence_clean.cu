// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], ["int32", 1, "zero"], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *box, volatile int *flag, float *out) {
  if (blockIdx.x == 0) {
    box[threadIdx.x] = in[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0) while (*flag == 0) {}
    __syncthreads();
    __threadfence();
    out[threadIdx.x] = box[63 - threadIdx.x];
  }
}
