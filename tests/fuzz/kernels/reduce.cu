// launch: {"kernel": "reduce", "grid": [3, 1, 1], "block": [96, 1, 1], "shared": 384, "args": [["int32", 250], ["int32", 3, "out"], 250]}
extern "C" __global__ void reduce(const int *in, int *out, int n) {
  extern __shared__ int part[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = 64; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride && threadIdx.x + stride < blockDim.x)
      part[threadIdx.x] += part[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
