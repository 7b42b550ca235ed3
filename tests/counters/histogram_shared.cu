// launch: {"kernel": "histogram_shared", "grid": [3, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["uint8", 1000], ["uint32", 128, "zero"], 1000]}
extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned bins[128];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
