// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  int count[4];
  for (int i = 0; i < 4; ++i) count[i] = i;
  int to = count[(at + n) % 4];
  out[at] = in[at + to];
}
