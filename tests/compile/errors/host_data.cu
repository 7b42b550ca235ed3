// expect: compile-error 2 a global variable without __device__, __constant__ or __shared__ is host data
float weight = 3;
extern "C" __global__ void k(float* a) { a[0] = weight; }
