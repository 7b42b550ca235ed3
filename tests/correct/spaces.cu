// What needs no execution space: constexpr functions in constants, and lambdas.

#include <cuda/std/variant>
// kernel constant_size grid 1 block 32
// out y int32 = [6] * 32
constexpr int log2c(int n) { return n <= 1 ? 0 : 1 + log2c(n / 2); }
extern "C" __global__ void constant_size(int *y) {
  __shared__ int s[log2c(64)];
  if (threadIdx.x < log2c(64)) s[threadIdx.x] = log2c(64);
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x % log2c(64)];
}
// kernel constant_member grid 1 block 16
// out y int32 = np.arange(16)[::-1]
struct Tile { static constexpr int side = 4; static constexpr int area() { return side * side; } };
extern "C" __global__ void constant_member(int *y) {
  __shared__ int s[Tile::area()];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[Tile::area() - 1 - threadIdx.x];
}
// kernel constant_short grid 1 block 32
// out y int32 = np.arange(32)
extern "C" __global__ void constant_short(int *y) {
  __shared__ int s[Tile::area()];
  s[threadIdx.x] = threadIdx.x;  // <- invalid-access
  y[threadIdx.x] = threadIdx.x;
}
// kernel generic_lambda grid 1 block 32
// out y float32 = [3.5] * 32
template <class F> __device__ float of_both(F f) { return f(3) + f(0.5f); }
extern "C" __global__ void generic_lambda(float *y) {
  y[threadIdx.x] = of_both([](auto q) { return (float)q; });
}
// kernel visited grid 1 block 32
// out y float32 = [i + 0.5 if i % 2 else i for i in range(32)]
extern "C" __global__ void visited(float *y) {
  cuda::std::variant<int, float> v = (int)threadIdx.x;
  if (threadIdx.x % 2) v = threadIdx.x + 0.5f;
  y[threadIdx.x] = cuda::std::visit([](auto q) { return (float)q; }, v);
}
// kernel constant_lambda grid 1 block 32
// out y int32 = [i * i for i in range(32)]
constexpr auto square = [](int a) { return a * a; };
extern "C" __global__ void constant_lambda(int *y) { y[threadIdx.x] = square(threadIdx.x); }
