// launch: {"kernel": "k", "grid": [8, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 8, "out"], ["float32", 1, "out"]]}
// expect: clean
__device__ unsigned int count = 0;
__shared__ bool isLast;
extern "C" __global__ void k(const float *a, volatile float *result, float *out) {
  __shared__ float s[64];
  s[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; __syncthreads(); }
  if (threadIdx.x == 0) {
    result[blockIdx.x] = s[0];
    __threadfence();
    unsigned int value = atomicInc(&count, gridDim.x);
    isLast = (value == (gridDim.x - 1));
  }
  __syncthreads();
  if (isLast) {
    float t = 0;
    if (threadIdx.x == 0) { for (int i = 0; i < gridDim.x; i++) t += result[i]; out[0] = t; count = 0; }
  }
}
