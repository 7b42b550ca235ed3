// expect: compile-error 2 the header memory is not available in device code
#include <thrust/device_vector.h>
extern "C" __global__ void k(float* a) { thrust::device_vector<float> v(1); a[0] = v[0]; }
