// launch: {"kernel": "racy", "grid": [3, 1, 1], "block": [64, 1, 1], "args": [["float32", 64, "inout"], ["float32", 192, "out"], 64]}
extern "C" __global__ void racy(float *a, float *b, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  b[blockIdx.x * 64 + t] = s[(t + 1) % n];
  a[(t * 3) % n] = s[t] + b[t];
  s[0] = t;
  if (t < 40) __syncthreads();
  a[n + t - 1] = s[t / 2];
  b[t] += 1;
}
