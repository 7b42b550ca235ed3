// expect: compile-error 3:7 a function without __device__ or __global__ is host code
#include <thrust/complex.h>
float half_of(float x) { return x / 2; }
extern "C" __global__ void k(float* a)
{
    thrust::complex<float> z(a[0], a[1]);
    a[0] = half_of(thrust::abs(z));
}
