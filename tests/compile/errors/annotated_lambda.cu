// expect: compile-error 4 __host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag
// hint: delete the annotation: a lambda has the execution space of its function
extern "C" __global__ void k(int *y) {
  auto f = [=] __device__ (int v) { return v * 2; };
  y[threadIdx.x] = f(1);
}
