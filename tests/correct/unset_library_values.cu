// Values of cuda::std and CUB types, of which some parts have no value that nothing uses.
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda/std/optional>
#include <cuda/std/variant>
#include <cuda/std/span>
#include <cuda/std/utility>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_exchange.cuh>
namespace cs = cuda::std;
// kernel array_part grid 1 block 32
// out y int32 = 3 * np.arange(32)
extern "C" __global__ void array_part(int *y) {
  cs::array<int, 4> a;
  for (int k = 0; k < 3; k++) a[k] = threadIdx.x;
  cs::array<int, 4> b = a;
  y[threadIdx.x] = b[0] + b[1] + b[2];
}
// kernel tuple_shared grid 1 block 32
// out y float32 = [t + 1.5 for t in range(32)][::-1]
extern "C" __global__ void tuple_shared(float *y) {
  __shared__ cs::tuple<char, float, short> *p;
  __shared__ __align__(8) unsigned char raw[32 * sizeof(cs::tuple<char, float, short>)];
  int t = threadIdx.x;
  if (t == 0) p = reinterpret_cast<cs::tuple<char, float, short> *>(raw);
  __syncthreads();
  p[t] = cs::make_tuple((char)t, 1.5f, (short)0);
  __syncthreads();
  auto q = p[31 - t];
  y[t] = cs::get<0>(q) + cs::get<1>(q) + cs::get<2>(q);
}
__device__ cs::optional<int> find(const int *x, int n, int v) { for (int i = 0; i < n; i++) if (x[i] == v) return i; return cs::nullopt; }
// kernel optional_find grid 1 block 32
// in x int32 = np.arange(20)
// out y int32 = [t if t < 20 else -1 for t in range(32)]
extern "C" __global__ void optional_find(const int *x, int *y) {
  auto r = find(x, 20, threadIdx.x);
  auto s = r;
  y[threadIdx.x] = s ? *s : -1;
}
// kernel variant_visit grid 1 block 32
// out y float32 = [t if t % 2 else t * 0.5 for t in range(32)]
extern "C" __global__ void variant_visit(float *y) {
  cs::variant<int, double> v = (int)threadIdx.x;
  if (threadIdx.x % 2 == 0) v = threadIdx.x * 0.5;
  cs::variant<int, double> w = v;
  y[threadIdx.x] = cs::visit([](auto x) { return (float)x; }, w);
}
// kernel span_part grid 1 block 32
// out y float32 = [3 * t + 3 for t in range(32)]
extern "C" __global__ void span_part(float *y) {
  float a[8];
  cs::span<float> s(a, 3);
  for (int i = 0; i < 3; i++) s[i] = threadIdx.x + i;
  float sum = 0;
  for (float v : s.first(3)) sum += v;
  y[threadIdx.x] = sum;
}
struct MinMax { float lo; char tag; float hi; };
struct Join { __device__ MinMax operator()(const MinMax &a, const MinMax &b) const { MinMax r; r.lo = a.lo < b.lo ? a.lo : b.lo; r.hi = a.hi > b.hi ? a.hi : b.hi; r.tag = a.tag; return r; } };
// kernel cub_struct grid 1 block 64
// in x float32 = np.arange(64)[::-1]
// out y float32 = [0, 63, 7]
extern "C" __global__ void cub_struct(const float *x, float *y) {
  using R = cub::BlockReduce<MinMax, 64>;
  __shared__ typename R::TempStorage temp;
  MinMax m; m.lo = m.hi = x[threadIdx.x]; m.tag = 7;
  MinMax r = R(temp).Reduce(m, Join());
  if (threadIdx.x == 0) { y[0] = r.lo; y[1] = r.hi; y[2] = r.tag; }
}
// kernel cub_union grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.cumsum(np.arange(64)) + 2016
extern "C" __global__ void cub_union(const int *x, int *y) {
  using R = cub::BlockReduce<int, 64>;
  using S = cub::BlockScan<int, 64>;
  __shared__ union { typename R::TempStorage r; typename S::TempStorage s; } temp;
  __shared__ int total;
  int t = threadIdx.x, v = x[t];
  int sum = R(temp.r).Sum(v);
  if (t == 0) total = sum;
  __syncthreads();
  int scan;
  S(temp.s).InclusiveSum(v, scan);
  y[t] = scan + total;
}
// kernel cub_partial grid 1 block 64
// value n int32 = 50
// in x int32 = np.arange(50)
// out y int32 = [1225]
extern "C" __global__ void cub_partial(int n, const int *x, int *y) {
  using R = cub::BlockReduce<int, 64>;
  __shared__ typename R::TempStorage temp;
  int v, t = threadIdx.x;
  if (t < n) v = x[t];
  int sum = R(temp).Sum(v, n);
  if (t == 0) *y = sum;
}
// kernel cub_exchange_struct grid 1 block 32
// out y float32 = [(2 * (k % 32) + k // 32) for k in range(64)]
struct Rec { short id; double v; };
extern "C" __global__ void cub_exchange_struct(float *y) {
  using E = cub::BlockExchange<Rec, 32, 2>;
  __shared__ typename E::TempStorage temp;
  Rec r[2];
  for (int k = 0; k < 2; k++) { r[k].id = 2 * threadIdx.x + k; r[k].v = r[k].id; }
  E(temp).StripedToBlocked(r, r);
  for (int k = 0; k < 2; k++) y[(int)r[k].id % 2 * 32 + r[k].id / 2] = r[k].v;
}
template <class T> __device__ T sum_of(const T *p, int n) { T s{}; for (int i = 0; i < n; i++) s += p[i]; return s; }
// kernel template_sum grid 1 block 32
// out y float32 = [6.0] * 32
extern "C" __global__ void template_sum(float *y) {
  double d[5];
  for (int i = 0; i < 4; i++) d[i] = i;
  y[threadIdx.x] = sum_of(d, 4);
}
// kernel pair_swap grid 1 block 32
// out y int32 = np.arange(32)
extern "C" __global__ void pair_swap(int *y) {
  cs::pair<int, int> p;
  p.first = threadIdx.x;
  cs::swap(p.first, p.second);
  y[threadIdx.x] = p.second;
}
