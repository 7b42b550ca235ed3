#pragma once
#include <iostream>
#include <algorithm>
#include <numeric>
#include <vector>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

using namespace std;
using thrust::device_vector;

constexpr int kBlock = 256;

template <typename T>
__global__ void vector_add(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ z, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        z[i] = x[i] + y[i];
}

template <typename T>
bool close(const vector<T>& a, const vector<T>& b) {
    return equal(a.begin(), a.end(), b.begin(), [](T p, T q) { return std::abs(p - q) < T(1e-4); });
}

int main()
{
    const int n = 1 << 16;
    device_vector<float> x(n), y(n), z(n), expected(n);
    thrust::sequence(x.begin(), x.end());
    thrust::sequence(y.begin(), y.end(), 1.0f, 2.0f);
    thrust::transform(x.begin(), x.end(), y.begin(), expected.begin(), thrust::plus<float>());
    const auto blocks = (n + kBlock - 1) / kBlock;
    vector_add<float><<<blocks, kBlock>>>(
        thrust::raw_pointer_cast(x.data()), thrust::raw_pointer_cast(y.data()),
        thrust::raw_pointer_cast(z.data()), n);
    cudaDeviceSynchronize();
    vector<float> got(n), want(n);
    thrust::copy(z.begin(), z.end(), got.begin());
    thrust::copy(expected.begin(), expected.end(), want.begin());
    cout << (close(got, want) ? "OK" : "FAILED") << endl;
}
