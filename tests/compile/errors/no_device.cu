// expect: compile-error 2:7 a function without __device__ or __global__ is host code
float square(float x) { return x * x; }
extern "C" __global__ void k(float* a) { a[0] = square(a[0]); }
