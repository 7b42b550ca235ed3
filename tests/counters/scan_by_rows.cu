// launch: {"kernel": "scan_by_rows", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 512, "out"]]}
extern "C" __global__ void scan_by_rows(const float *in, float *out) {
  __shared__ float s[4][129];
  int t = threadIdx.x;
  for (int r = 0; r < 4; r++) s[r][t] = in[r * 128 + t];
  __syncthreads();
  if (t < 4) {
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 128; k++) { sum += s[t][k]; s[t][k] = sum; }
  }
  __syncthreads();
  for (int r = 0; r < 4; r++) out[r * 128 + t] = s[r][t];
}
