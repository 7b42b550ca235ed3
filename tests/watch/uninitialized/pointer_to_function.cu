// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 4
typedef float (*Step)(float, float);
__device__ float plus(float x, float y) { return x + y; }
__device__ float times(float x, float y) { return x * y; }
extern "C" __global__ void k(const float *a, float *out) {
  Step step = a[0] > 1e9f ? times : plus;
  float scale;
  if (a[threadIdx.x] > 1e9f)
    scale = 2;
  out[threadIdx.x] = step(a[threadIdx.x], scale);
}
