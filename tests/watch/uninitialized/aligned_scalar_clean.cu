// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
struct __align__(8) Pair { float a, b; };
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ __align__(8) unsigned long long most;
  __align__(8) __shared__ unsigned least;
  __align__(8) float scale;
  if (threadIdx.x == 0) most = least = 0;
  __syncthreads();
  Pair p = {x[threadIdx.x], 1};
  if (least == 0) scale = 2;
  y[threadIdx.x] = p.a * scale + most;
}
