// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 5
struct Pair { float x, y; };
typedef float (*Sum)(Pair);
__device__ float both(Pair p) { return p.x + p.y; }
__device__ float first(Pair p) { return p.x; }
extern "C" __global__ void k(const float *a, float *out) {
  Pair p;
  p.x = a[threadIdx.x];
  Sum sum = a[0] > 1e9f ? first : both;
  out[threadIdx.x] = sum(p);
}
