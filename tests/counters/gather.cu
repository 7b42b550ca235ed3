// launch: {"kernel": "gather", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["float32", 100], ["float32", 256, "out"]]}
extern "C" __global__ void gather(const int *index, const float *table, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[index[i]];
}
