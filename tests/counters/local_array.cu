// launch: {"kernel": "local_array", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
extern "C" __global__ void local_array(const int *in, int *out) {
  int count[16], i = blockIdx.x * 64 + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 16; k++) count[k] = k * in[i];
  out[i] = count[in[i] & 15] + count[threadIdx.x & 15];
}
