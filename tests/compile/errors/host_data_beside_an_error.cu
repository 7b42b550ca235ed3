// expect: compile-error 5 a global variable without __device__, __constant__ or __shared__ is host data
// expect: compile-error 11 identifier "totl" is undefined
// Only `weights` keeps the kernel from compiling, once the name is right: device code uses no other one.
const char *title = "sums";
namespace host { int threads; float weights[4], *buffer; }
struct Config { int n; float scale; } config = {1, 2};
__device__ float weigh(int x) { return x * host::weights[x]; }

extern "C" __global__ void k(float *y) {
  y[threadIdx.x] = weigh(2);
  y[0] = totl;
}
