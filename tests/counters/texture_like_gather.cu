// launch: {"kernel": "texture_like_gather", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["float32", 256], ["float32", 128, "out"]]}
extern "C" __global__ void texture_like_gather(const int *index, const float *__restrict__ table, float *out) {
  int i = blockIdx.x * 64 + threadIdx.x, k = index[i] & 127;
  out[i] = __ldg(table + k) * 0.25f + __ldg(table + k + 1) * 0.75f;
}
