// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
typedef int (*Function)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
extern "C" __global__ void k(const int *in, int *out) {
  Function f = in[threadIdx.x] < 50 ? thrice : twice;
  out[threadIdx.x] = f(in[threadIdx.x]);
}
