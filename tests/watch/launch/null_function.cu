// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: launch-failure error line 7
typedef int (*Function)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
extern "C" __global__ void k(const int *in, int *out) {
  Function f = in[threadIdx.x] < 1000 ? nullptr : twice;
  out[threadIdx.x] = f(in[threadIdx.x]);
}
