// expect: compile-error 4 a function without __device__ or __global__ is host code
// expect: compile-error 6 identifier "totl" is undefined
// hint: put __device__ before it if the kernel calls it; otherwise delete it
int cube(int x) { return x * x * x; }
extern "C" __global__ void k(int *y) {
  y[threadIdx.x] = totl;
  y[0] = cube(2);
}
