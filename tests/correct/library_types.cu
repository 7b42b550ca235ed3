// Types and functions of NVIDIA's libraries that kernels use: complex numbers, tuples, functors, scans.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuComplex.h>
#include <cub/warp/warp_scan.cuh>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <thrust/complex.h>
#include <thrust/functional.h>
#include <thrust/pair.h>
#include <thrust/tuple.h>

namespace cg = cooperative_groups;

// kernel mandelbrot grid 1 block 64
// in re float32 = np.linspace(-2, 0.5, 64)
// out steps int32 = [(lambda c: next((k for k in range(50) if abs(__import__('functools').reduce(lambda z, _: z * z + c, range(k), 0j)) > 2), 50))(complex(x, 0.25)) for x in re]
__global__ void mandelbrot(const float* re, int* steps)
{
    const int x = threadIdx.x;
    const thrust::complex<float> c(re[x], 0.25f);
    thrust::complex<float> z = 0.0f;
    int k = 0;
    while (k < 50 && thrust::norm(z) <= 4.0f) {
        z = z * z + c;
        ++k;
    }
    steps[x] = k;
}

// kernel complex_functions grid 1 block 64 tol 1e-12
// in z complex128 = rng.normal(0, 1, 64) + 1j * rng.normal(0, 1, 64)
// out w complex128 = np.exp(z) * np.sqrt(z) + np.log(z) / (z + 2) - np.tanh(z) * np.conj(z) + z ** 3
__global__ void complex_functions(const thrust::complex<double>* z, thrust::complex<double>* w)
{
    const thrust::complex<double> v = z[threadIdx.x];
    w[threadIdx.x] = thrust::exp(v) * thrust::sqrt(v) + thrust::log(v) / (v + 2.0)
                     - thrust::tanh(v) * thrust::conj(v) + thrust::pow(v, 3.0);
}

// kernel other_complex_numbers grid 1 block 32 tol 1e-5
// in z complex64 = rng.normal(0, 1, 32) + 1j * rng.normal(0, 1, 32)
// out w complex64 = z * z.conj() + np.exp(z) * z
__global__ void other_complex_numbers(const cuFloatComplex* z, cuFloatComplex* w)
{
    const cuFloatComplex v = z[threadIdx.x];
    const cuda::std::complex<float> s(v.x, v.y), p = cuda::std::exp(s) * s;
    const cuFloatComplex square = cuCmulf(v, cuConjf(v));
    w[threadIdx.x] = cuCaddf(square, make_cuFloatComplex(p.real(), p.imag()));
}

// kernel extremes grid 1 block 64
// in a int32 = rng.permutation(64)
// out most int32 = [a[:32].max(), a[:32].argmax(), a[32:].max(), 32 + a[32:].argmax()]
__global__ void extremes(const int* a, int* most)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int x = threadIdx.x;
    thrust::pair<int, int> best = thrust::make_pair(a[x], x);
    for (int step = 16; step > 0; step /= 2) {
        const thrust::pair<int, int> other(warp.shfl_down(best.first, step), warp.shfl_down(best.second, step));
        if (thrust::less<int>()(best.first, other.first))
            best = other;
    }
    const auto [value, at] = thrust::make_tuple(best.first, best.second);
    if (warp.thread_rank() == 0) {
        most[2 * (x / 32)] = value;
        most[2 * (x / 32) + 1] = at;
    }
}

// kernel scans grid 1 block 64
// in a int32 = rng.integers(0, 9, 64)
// out sums int32 = np.concatenate([np.cumsum(h) * 2 + h.max() for h in (a[:32], a[32:])])
__global__ void scans(const int* a, int* sums)
{
    using Scan = cub::WarpScan<int>;
    __shared__ typename Scan::TempStorage storage[2];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int x = threadIdx.x;
    int first;
    Scan(storage[x / 32]).InclusiveSum(a[x], first);
    const int second = cg::inclusive_scan(warp, a[x], cg::plus<int>());
    sums[x] = first + second + cg::reduce(warp, a[x], cuda::maximum<int>());
}

// kernel containers grid 1 block 32
// in a uint32 = rng.integers(1, 1 << 20, 32)
// out b uint32 = [int(v).bit_count() + int(v).bit_length() + -(-int(v) // 7) + (int(v) if v % 2 else 4294967295) & 0xffffffff for v in a]
__global__ void containers(const unsigned* a, unsigned* b)
{
    cuda::std::span<const unsigned> values(a, 32);
    const unsigned v = values[threadIdx.x];
    cuda::std::array<unsigned, 3> parts{unsigned(cuda::std::popcount(v)), unsigned(cuda::std::bit_width(v)),
                                        cuda::ceil_div(v, 7u)};
    cuda::std::optional<unsigned> odd;
    if (v % 2)
        odd = v;
    const cuda::std::tuple<unsigned, unsigned> rest{odd.value_or(cuda::std::numeric_limits<unsigned>::max()), 0};
    unsigned sum = 0;
    for (unsigned part : parts)
        sum += part;
    b[threadIdx.x] = sum + cuda::std::get<0>(rest) + cuda::std::get<1>(rest);
}
