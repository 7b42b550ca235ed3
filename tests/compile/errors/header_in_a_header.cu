// expect: compile-error 3 there is no header
// hint: delete the #include: kernels use CUDA's headers only, not the host's libraries
#include <thrust/device_vector.h>
extern "C" __global__ void k(float* a) { a[0] = 1; }
