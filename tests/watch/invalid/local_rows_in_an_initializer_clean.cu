// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32, "undefined"]]}
// expect: clean
extern "C" __global__ void k(float *out) {
  float sum[8][8] = {};
  for (int r = 0; r < 8; r++)
    for (int c = 0; c < 8; c++) sum[r][c] += r * c;
  out[threadIdx.x] = sum[threadIdx.x % 8][threadIdx.x / 8];
}
