// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
typedef float (*Step)(float);
__device__ float positive(float x) {
  float r;
  if (x > 1e9f)
    r = x;
  return r;
}
__device__ float twice(float x) { return 2 * x; }
__device__ Step steps[2] = {positive, twice};
extern "C" __global__ void k(const float *a, float *out) {
  const float x = a[threadIdx.x];
  Step step = steps[x > 1e9f];
  const float r = step(x);
  out[threadIdx.x] = x > 1e9f ? r + 1 : x;
}
