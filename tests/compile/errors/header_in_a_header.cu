// expect: compile-error 3 the header
// hint: delete the #include: a kernel can use CUDA's headers, not the host's libraries
#include <thrust/device_vector.h>
extern "C" __global__ void k(float* a) { a[0] = 1; }
