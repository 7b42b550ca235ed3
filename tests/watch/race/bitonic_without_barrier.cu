// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64, "inout"]]}
// expect: race error line 11 hazard RAW variable s
extern "C" __global__ void k(float *a) {
  __shared__ float s[64];
  int i = threadIdx.x;
  s[i] = a[i];
  __syncthreads();
  for (int size = 2; size <= 64; size *= 2)
    for (int d = size / 2; d > 0; d /= 2) {
      int j = i ^ d;
      if (j > i && (s[i] > s[j]) == ((i & size) == 0)) { float t = s[i]; s[i] = s[j]; s[j] = t; }
    }
  a[i] = s[i];
}
