// launch: {"kernel": "broadcast", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 4], ["float32", 128, "out"]]}
extern "C" __global__ void broadcast(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[blockIdx.x] + in[3];
}
