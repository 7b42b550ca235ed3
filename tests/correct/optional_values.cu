// Types of the C++ library that may have no value, with the library's own assertions that a value that is read exists.
#define CCCL_ENABLE_DEVICE_ASSERTIONS
#include <cuda/std/array>
#include <cuda/std/expected>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>
using cuda::std::optional;

__device__ __noinline__ optional<int> unless_third(int x) {
  if (x % 3) return x;
  return cuda::std::nullopt;
}
__device__ __noinline__ cuda::std::expected<int, short> checked(int x) {
  if (x % 3) return x;
  return cuda::std::unexpected<short>(7);
}

// Wrong: every third has none.
// kernel stored grid 1 block 32
// in a int32 = np.arange(32)
// out y int32 = np.arange(32)
extern "C" __global__ void stored(const int *a, int *y) {
  auto r = unless_third(a[threadIdx.x]);
  y[threadIdx.x] = *r;  // <- launch-failure
}

// Wrong: branched on.
// kernel branched grid 1 block 32
// in a int32 = np.arange(32)
// out y int32 = np.arange(32)
extern "C" __global__ void branched(const int *a, int *y) {
  optional<float> r;
  if (a[threadIdx.x] > 9) r = 1.f * a[threadIdx.x];
  if (*r > 2.f) y[threadIdx.x] = 1;  // <- launch-failure
  else y[threadIdx.x] = 0;
}

// Wrong: the error is none.
// kernel expected_value grid 1 block 32
// in a int32 = np.arange(32)
// out y int32 = np.arange(32)
extern "C" __global__ void expected_value(const int *a, int *y) {
  auto r = checked(a[threadIdx.x]);
  y[threadIdx.x] = *r + 1;  // <- launch-failure
}

// kernel value_or grid 1 block 32
// in a int32 = np.arange(32)
// out y int32 = np.where(np.arange(32) % 3, np.arange(32), -1)
extern "C" __global__ void value_or(const int *a, int *y) { y[threadIdx.x] = unless_third(a[threadIdx.x]).value_or(-1); }

// kernel compared grid 1 block 32
// in a int32 = np.arange(32)
// out y int32 = np.where(np.arange(32) % 3, np.arange(32), 0)
extern "C" __global__ void compared(const int *a, int *y) {
  auto r = unless_third(a[threadIdx.x]);
  optional<int> q = r, s = cuda::std::move(q), e;
  if (r == cuda::std::nullopt) s = r;
  if (s != r || e.has_value() || e == optional<int>(1)) y[threadIdx.x] = -5;
  else y[threadIdx.x] = s ? *s : 0;
}

// kernel others grid 1 block 32
// in a int32 = np.arange(32)
// out y int32 = np.arange(32) * 3 + np.where(np.arange(32) % 3, np.arange(32), 7)
extern "C" __global__ void others(const int *a, int *y) {
  __shared__ optional<int> shared[32];
  int x = a[threadIdx.x];
  shared[threadIdx.x] = unless_third(x);
  __syncthreads();
  cuda::std::array<int, 3> three = {x, 0, 0};
  cuda::std::span<int> s(three.data(), 3);
  s[1] = s[0], three[2] = s.back() + x;
  auto p = cuda::std::make_pair(s[0], s[1]);
  auto t = cuda::std::make_tuple(p.first, p.second, three[2]);
  cuda::std::variant<int, float> v = 1.f;
  v = cuda::std::get<0>(t) + cuda::std::get<1>(t) + cuda::std::get<2>(t);
  auto c = checked(x);
  auto o = shared[threadIdx.x];
  int more = c ? *c : c.error();
  if (o.has_value() != c.has_value()) more = -1;
  y[threadIdx.x] = *cuda::std::get_if<int>(&v) + more;
}
