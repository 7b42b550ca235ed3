#include <thrust/complex.h>
#include <cstdio>
#include <complex>
#include <iostream>
#include <vector>

using cf = thrust::complex<float>;

__device__ cf power(cf z, int n)
{
    cf p(1.0f, 0.0f);
    for (int k = 0; k < n; ++k)
        p *= z;
    return p;
}

extern "C" __global__ void k(const float* a, float* out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n)
        return;
    cf z(a[2 * x], a[2 * x + 1]);
    cf w = power(z, 3) + thrust::exp(z) / (z + 2.0f);
    out[2 * x] = w.real();
    out[2 * x + 1] = thrust::abs(w) + thrust::arg(z) + thrust::norm(thrust::conj(z));
}

std::complex<float> mean(const std::vector<std::complex<float>>& v)
{
    std::complex<float> s = 0;
    for (auto z : v) s += z;
    return s / (float)v.size();
}

int main()
{
    std::vector<std::complex<float>> h(64);
    std::cout << mean(h) << std::endl;
    float *a, *o;
    cudaMalloc(&a, 512); cudaMalloc(&o, 512);
    k<<<1, 64>>>(a, o, 64);
}
