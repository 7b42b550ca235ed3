// launch: {"kernel": "dynamic_shared", "grid": [2, 2, 1], "block": [16, 8, 1], "shared": 1024, "args": [["float32", 512], ["float32", 512, "out"], 32]}
extern "C" __global__ void dynamic_shared(const float *in, float *out, int width) {
  extern __shared__ float s[];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float *first = s, *second = s + 128;
  first[threadIdx.y * 16 + threadIdx.x] = in[y * width + x];
  second[threadIdx.x * 8 + threadIdx.y] = in[y * width + x];
  __syncthreads();
  out[y * width + x] = first[threadIdx.x * 8 + threadIdx.y] + second[threadIdx.y * 16 + threadIdx.x];
}
