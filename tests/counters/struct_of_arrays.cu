// launch: {"kernel": "struct_of_arrays", "grid": [2, 1, 1], "block": [100, 1, 1], "shared": 0, "args": [["float32", 600], ["float32", 600, "out"], 200]}
extern "C" __global__ void struct_of_arrays(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i] + in[n + i];
  out[n + i] = in[n + i];
  out[2 * n + i] = in[2 * n + i] * in[n + i];
}
