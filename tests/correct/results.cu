// Values that cross calls: arguments and results of functions that have a value on some paths only.

__device__ __noinline__ int largest_or_zero(int v) {
  int r = 0;
  if (v > 31) r = v;
  return r;
}

__device__ __noinline__ int largest_or_nothing(int v) {
  int r;
  if (v > 31) r = v;
  return r;
}

// kernel result_on_all_paths grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = np.where(a > 31, a, 0) * 5
extern "C" __global__ void result_on_all_paths(const int *a, int *y) {
  y[threadIdx.x] = largest_or_zero(a[threadIdx.x]) * 5;
}

// kernel result_on_one_path grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = a
// finds uninitialized-read error the result of `largest_or_nothing` is used
extern "C" __global__ void result_on_one_path(const int *a, int *y) {
  y[threadIdx.x] = largest_or_nothing(a[threadIdx.x]) * 5;  // <- uninitialized-read
}

// The result is undefined in half of the lanes, and these do not use it.
// kernel result_used_where_it_is grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = np.where(a > 31, a * 5, -1)
extern "C" __global__ void result_used_where_it_is(const int *a, int *y) {
  int v = a[threadIdx.x], r = largest_or_nothing(v);
  if (v > 31) y[threadIdx.x] = r * 5;
  else y[threadIdx.x] = -1;
}

// A function that ends without a return on one path.
__device__ int missing_return(int v) {
  if (v > 31) return 5;
}

// kernel no_return_on_one_path grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = a
extern "C" __global__ void no_return_on_one_path(const int *a, int *y) {
  y[threadIdx.x] = missing_return(a[threadIdx.x]);  // <- uninitialized-read
}

struct Maybe {
  bool there;
  int value;
};

__device__ Maybe half_of(int x) {
  Maybe m;
  m.there = x % 2 == 0;
  if (m.there) m.value = x / 2;
  return m;
}

// kernel result_member_looked_at_first grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = np.where(a % 2 == 0, a // 2, 0)
extern "C" __global__ void result_member_looked_at_first(const int *a, int *y) {
  Maybe m = half_of(a[threadIdx.x]);
  y[threadIdx.x] = m.there ? m.value : 0;
}

// kernel result_member_taken grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = a
// finds uninitialized-read error local variable `m.value` is used
extern "C" __global__ void result_member_taken(const int *a, int *y) {
  Maybe m = half_of(a[threadIdx.x]);
  y[threadIdx.x] = m.value;  // <- uninitialized-read
}

__device__ float4 two_of_four(const float *a, int t) {
  float4 v;
  v.x = a[t];
  v.y = 2 * a[t];
  if (t < 0) v.w = 0;
  return v;
}

// kernel result_components_that_are_set grid 1 block 64
// in a float32 = np.arange(64)
// out y float32 = a * 3
extern "C" __global__ void result_components_that_are_set(const float *a, float *y) {
  float4 v = two_of_four(a, threadIdx.x);
  y[threadIdx.x] = v.x + v.y;
}

// kernel result_component_that_is_not grid 1 block 64
// in a float32 = np.arange(64)
// out y float32 = a
extern "C" __global__ void result_component_that_is_not(const float *a, float *y) {
  float4 v = two_of_four(a, threadIdx.x);
  y[threadIdx.x] = v.x + v.w;  // <- uninitialized-read
}

__device__ __noinline__ int value_or_zero(Maybe m) { return m.there ? m.value : 0; }

__device__ __noinline__ int value_in_a_branch(Maybe m) {
  if (m.there) return m.value + 1;
  return m.value - 1;
}

// kernel argument_looked_at_first grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = np.where(a % 2 == 0, a // 2, 0)
extern "C" __global__ void argument_looked_at_first(const int *a, int *y) {
  y[threadIdx.x] = value_or_zero(half_of(a[threadIdx.x]));
}

// kernel argument_taken_behind_a_branch grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = a
// finds uninitialized-read error local variable `m.value` is used
extern "C" __global__ void argument_taken_behind_a_branch(const int *a, int *y) {
  y[threadIdx.x] = value_in_a_branch(half_of(a[threadIdx.x]));
}

__device__ __noinline__ Maybe passed_on(Maybe m, int depth) {
  if (depth > 0) return passed_on(m, depth - 1);
  return m;
}

// kernel passed_on_by_recursion grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = np.where(a % 2 == 0, a // 2, 0)
extern "C" __global__ void passed_on_by_recursion(const int *a, int *y) {
  Maybe m = passed_on(half_of(a[threadIdx.x]), threadIdx.x % 3);
  y[threadIdx.x] = m.there ? m.value : 0;
}

// kernel passed_on_and_taken grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = a
extern "C" __global__ void passed_on_and_taken(const int *a, int *y) {
  Maybe m = passed_on(half_of(a[threadIdx.x]), threadIdx.x % 3);
  y[threadIdx.x] = m.value;  // <- uninitialized-read
}

typedef int (*Choice)(int);
__device__ Choice choices[2] = {largest_or_zero, missing_return};

// A call through a pointer hands defined arguments to functions that others call with undefined ones.
// kernel called_through_a_pointer grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = np.where(a > 31, a, 0) + np.where(a % 2 == 0, a // 2, 0)
extern "C" __global__ void called_through_a_pointer(const int *a, int *y) {
  int v = a[threadIdx.x];
  y[threadIdx.x] = choices[v < 0](v) + value_or_zero(half_of(v));
}

template <class F> __device__ __noinline__ int applied(F f, int x) { return f(x); }

// kernel lambda_on_one_path grid 1 block 64
// in a int32 = np.arange(64)
// out y int32 = a
extern "C" __global__ void lambda_on_one_path(const int *a, int *y) {
  auto f = [](int x) {
    int q;
    if (x < 16) q = x;
    return q;
  };
  y[threadIdx.x] = applied(f, a[threadIdx.x]);  // <- uninitialized-read
}

// One lane has a value, and a shuffle gives it to all.
__device__ int drawn(int *n) {
  int at;
  if (threadIdx.x % 32 == 0) at = atomicAdd(n, 32);
  return at;
}

// kernel one_lane_draws grid 1 block 64
// inout n int32 = [0] -> [64]
// out y int32 = np.arange(64)
extern "C" __global__ void one_lane_draws(int *n, int *y) {
  int at = __shfl_sync(0xffffffff, drawn(n), 0) + threadIdx.x % 32;
  y[at] = at;
}

// The function is named whose result it is, not the type of its argument.
// kernel cast_in_the_arguments grid 1 block 32
// in x int32 = np.arange(32)
// out y float32 = x
// finds uninitialized-read error the result of `shaped` is used
enum class Shape { flat, steep, round };
__device__ float shaped(Shape shape, float x) {
  float y;
  switch (shape) {
    case Shape::flat: y = x; break;
    case Shape::steep: y = x * x; break;
  }
  return y;
}
extern "C" __global__ void cast_in_the_arguments(const int *x, float *y) {
  y[threadIdx.x] = 1 + shaped(Shape(x[threadIdx.x] % 3), x[threadIdx.x]);
}

// kernel vector_in_the_arguments grid 1 block 32
// in x float32 = np.arange(32)
// out y float32 = x
// finds uninitialized-read error the result of `part_of` is used
__device__ float part_of(float2 pair, int which) {
  float part;
  if (which == 0) part = pair.x;
  if (which == 1) part = pair.y;
  return part;
}
extern "C" __global__ void vector_in_the_arguments(const float *x, float *y) {
  y[threadIdx.x] = 2 * part_of(make_float2(x[threadIdx.x], 1), int(x[threadIdx.x]) % 3);
}

// kernel every_case_of_a_cast grid 1 block 32
// in x int32 = np.arange(32)
// out y float32 = np.where(x % 2 == 0, x + 1, x * x + 1)
extern "C" __global__ void every_case_of_a_cast(const int *x, float *y) {
  y[threadIdx.x] = 1 + shaped(Shape(x[threadIdx.x] % 2), x[threadIdx.x]);
}
