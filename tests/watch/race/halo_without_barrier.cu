// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"]]}
// expect: race error line 12 hazard RAW variable line
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float line[68];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  line[t + 2] = in[i];
  if (t < 2) {
    line[t] = i > 1 ? in[i - 2] : 0;
    line[t + 66] = i + 64 < 128 ? in[i + 64] : 0;
  }
  float sum = 0;
  for (int j = 0; j < 5; ++j) sum += line[t + j];
  out[i] = sum;
}
