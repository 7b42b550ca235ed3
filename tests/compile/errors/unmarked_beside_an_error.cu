// expect: compile-error 17 identifier "totl" is undefined
template <int N> struct Table {
  int v[N];
  constexpr Table() : v() { for (int i = 1; i < N; i++) v[i] = v[i - 1] + i; }
};
constexpr int cube(int x) { return x * x * x; }
template <typename T> constexpr T
square(T x) { return x * x; }
__constant__ constexpr Table<32> sums;
template <typename F> __device__ int twice(F f, int v) { return f(v) + f(v); }
extern "C" __global__ void k(int *y) {
  int q = 3, total = 0;
  auto f = [=](auto v) { return v * q; };
  auto g = [&]() mutable { return q * 4; };
  total = twice(f, 1) + g() + cube(2) + square(3) + sums.v[4];

  y[threadIdx.x] = totl;
}
