// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
typedef float (*Step)(float, float, bool);
__device__ float plus(float x, float y, bool both) { return both ? x + y : x; }
__device__ float first(float x, float, bool) { return x; }
extern "C" __global__ void k(const float *a, float *out) {
  Step step = a[0] > 1e9f ? first : plus;
  float scale;
  if (a[threadIdx.x] > 1e9f)
    scale = 2;
  out[threadIdx.x] = step(a[threadIdx.x], scale, a[threadIdx.x] > 1e9f);
}
