// Pointers to local variables that leave no variable, whatever they look like; and some that do.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdint>
#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>

struct Body { int id; float pos[3]; float vel[3]; };
struct Node { int value; Node *next; };

__device__ __noinline__ void fill(float *p, int n, float x) { for (int i = 0; i < n; ++i) p[i] = x + i; }
__device__ __noinline__ float total(const float *first, const float *last) {
  float s = 0;
  while (first != last) s += *first++;
  return s;
}
template <class T> __device__ __noinline__ void exchange(T &a, T &b) { T t = a; a = b; b = t; }

// kernel ends grid 1 block 32
// out y float32 = np.full(32, 0 + 1 + 2 + 10 + 11 + 12)
// a pointer one behind the end of an array, which is where the next one begins, is compared only
extern "C" __global__ void ends(float *y) {
  float a[3], b[3];
  fill(a, 3, 0);
  fill(b, 3, 10);
  y[threadIdx.x] = total(a, a + 3) + total(&b[0], &b[3]);
}

// kernel backwards grid 1 block 32
// out y float32 = np.full(32, 3 + 2 + 1 + 0)
// a walk from the end; the pointer ends before the array
extern "C" __global__ void backwards(float *y) {
  float guard[2] = {9, 9}, a[4];
  fill(a, 4, 0);
  float s = 0;
  for (float *p = a + 3; p >= a; --p) s += *p;
  y[threadIdx.x] = s + 0 * total(guard, guard + 2);
}

// kernel backwards_alone grid 1 block 32
// in x int32 = np.arange(32) * 7 % 32
// out y int32 = [sum(x[(t + k) % 32] for k in range(8)) for t in range(32)]
// the same of the first variable of the stack: the pointer that ends before it does not wrap around
extern "C" __global__ void backwards_alone(const int *x, int *y) {
  int m[4][2], s = 0;
  for (int i = 0; i < 8; ++i) m[i / 2][i % 2] = x[(threadIdx.x + i) & 31];
  for (int *p = &m[3][1]; p >= &m[0][0]; p--) s += *p;
  y[threadIdx.x] = s;
}

// kernel from_one grid 1 block 32
// out y float32 = np.full(32, 1 + 2 + 3 + 4)
// arrays that count from 1
extern "C" __global__ void from_one(float *y) {
  float guard[2] = {9, 9}, a[4];
  float *one = a - 1, s = 0;
  for (int i = 1; i <= 4; ++i) one[i] = i;
  for (int i = 1; i <= 4; ++i) s += one[i];
  y[threadIdx.x] = s + 0 * total(guard, guard + 2);
}

// kernel double_buffer grid 1 block 32
// in n int32 = [5]
// out y float32 = np.full(32, 4 * 2.0 ** 5)
// two buffers that change places, and a function that swaps them
extern "C" __global__ void double_buffer(const int *n, float *y) {
  float even[4] = {1, 1, 1, 1}, odd[4], *cur = even, *next = odd;
  for (int step = 0; step < n[0]; ++step) {
    for (int i = 0; i < 4; ++i) next[i] = cur[i] + cur[(i + 1) % 4];
    exchange(cur, next);
  }
  y[threadIdx.x] = total(cur, cur + 4);
}

// kernel through_integers grid 1 block 32
// out y float32 = np.full(32, 5.0)
// a pointer that is aligned, carries a bit, is made of two, and comes from a difference
extern "C" __global__ void through_integers(float *y) {
  char raw[64];
  float *aligned = (float *)(((uintptr_t)raw + 15) & ~(uintptr_t)15);
  fill(aligned, 12, 0);
  int a[2] = {1, 2}, b[2] = {3, 4};
  uintptr_t marked = (uintptr_t)(threadIdx.x & 1 ? a : b) | 1;
  int *clear = (int *)(marked & ~(uintptr_t)1);
  uintptr_t both = (uintptr_t)a ^ (uintptr_t)b;
  int *other = (int *)(both ^ (uintptr_t)clear);
  int *same = clear + (other - clear);
  y[threadIdx.x] = aligned[0] + clear[0] + same[0] + (clear[1] - clear[0]) - (aligned[11] - 11);
}

// kernel vectors_as_floats grid 1 block 32
// out y float32 = np.full(32, 1 + 2 + 3 + 4 + 5 + 6 + 7)
// structs and vectors that are read as arrays of floats
extern "C" __global__ void vectors_as_floats(float *y) {
  float4 v = make_float4(1, 2, 3, 4);
  float3 w = make_float3(5, 6, 7);
  const float *a = &v.x, *b = reinterpret_cast<const float *>(&w);
  y[threadIdx.x] = total(a, a + 4) + total(b, b + 3);
}

// kernel members_as_one grid 1 block 32
// out y float32 = np.full(32, 0 + 1 + 2 + 3 + 4 + 5)
// two members that a helper takes for one array
extern "C" __global__ void members_as_one(float *y) {
  Body b;
  fill(b.pos, 6, 0);
  y[threadIdx.x] = total(b.pos, b.vel + 3);
}

// kernel rows_as_one grid 1 block 32
// out y float32 = np.full(32, 66.0)
// a matrix that is filled through its first element
extern "C" __global__ void rows_as_one(float *y) {
  float m[3][4], s = 0;
  fill(&m[0][0], 12, 0);
  for (float(*row)[4] = m; row != m + 3; ++row) s += total(*row, *row + 4);
  y[threadIdx.x] = s;
}

// kernel outer_struct grid 1 block 32
// out y int32 = np.full(32, 7)
// from a member to the struct around it, and to the next struct of an array
extern "C" __global__ void outer_struct(int *y) {
  Body bodies[2] = {{3, {}, {}}, {4, {}, {}}};
  float *vel = bodies[0].vel;
  Body *b = reinterpret_cast<Body *>(reinterpret_cast<char *>(vel) - 16);
  y[threadIdx.x] = b->id + (b + 1)->id;
}

// kernel unions grid 1 block 32
// out y int32 = np.full(32, 0x3F + 0x80)
extern "C" __global__ void unions(int *y) {
  union { float f; unsigned char bytes[4]; } u;
  u.f = 1;
  const unsigned char *p = u.bytes;
  y[threadIdx.x] = p[3] + p[2];
}

// kernel linked grid 1 block 32
// out y int32 = np.full(32, 0 + 3 + 2 + 1)
// a list in local memory
extern "C" __global__ void linked(int *y) {
  Node pool[4], head = {0, nullptr};
  for (int i = 1; i < 4; ++i) { pool[i] = {i, head.next}; head.next = &pool[i]; }
  int s = 0;
  for (const Node *n = &head; n; n = n->next) s = s * 1 + n->value;
  y[threadIdx.x] = s;
}

__device__ int deepest(int *up, int depth) {
  int mine[2] = {depth, up[1] + 1};
  if (depth == 0) return mine[1] + up[0];
  int below = deepest(mine, depth - 1);
  up[0] += mine[0];
  return below;
}

// kernel recursion grid 1 block 32
// out y int32 = np.full(32, 6 + 10)
// each call changes its caller's array
extern "C" __global__ void recursion(int *y) {
  int top[2] = {0, 0};
  int n = deepest(top, 4);
  y[threadIdx.x] = n + top[0];
}

__device__ __forceinline__ int inlined(const int *v, int n) {
  int own[4], s = 0;
  int *p = own;
  for (int i = 0; i < n; ++i) *p++ = v[i];
  while (p != own) s += *--p;
  return s;
}

// kernel inlined_twice grid 1 block 32
// out y int32 = np.full(32, 10 + 26)
extern "C" __global__ void inlined_twice(int *y) {
  int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  y[threadIdx.x] = inlined(a, 4) + inlined(b, 4);
}

template <class F> __device__ __noinline__ void each(int n, F f) { for (int i = 0; i < n; ++i) f(i); }

// kernel lambdas grid 1 block 32
// out y int32 = np.full(32, 0 + 10 + 11 + 20)
// captured by reference and by value, one in the other
extern "C" __global__ void lambdas(int *y) {
  int a[2] = {0, 1}, b[2] = {10, 10}, s = 0;
  each(2, [&](int i) { b[i] *= i + 1; });
  each(2, [&, b](int i) mutable { int *p = b; p[i] += a[i]; s += p[i] + a[i] * (i - 1); });
  y[threadIdx.x] = s + 10 + (a == b);
}

struct Shape { int sides; __device__ virtual int area(const int *e) const { return e[0]; } };
struct Tagged { short tag = 2; };
struct Square : Shape, Tagged { int scale[2]; __device__ int area(const int *e) const override { return e[0] * e[1] * scale[1]; } };

__device__ __noinline__ int area_of(const Shape *s, const int *e) { return s->area(e); }
__device__ __noinline__ int tag_of(const Tagged &t) { return t.tag; }

// kernel classes grid 1 block 32
// out y int32 = np.full(32, 24 + 2)
// pointers to bases in the middle of an object, and virtual functions
extern "C" __global__ void classes(int *y) {
  Square s;
  s.scale[0] = 1;
  s.scale[1] = 2;
  int edges[2] = {3, 4};
  y[threadIdx.x] = area_of(&s, edges) + tag_of(s);
}

// kernel library grid 1 block 32
// out y int32 = np.full(32, sum(range(32)) + 6 + 2 + 3 + 9)
// variables that cooperative groups and libcu++ get
extern "C" __global__ void library(int *y) {
  namespace cg = cooperative_groups;
  int t = threadIdx.x;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int sum = cg::reduce(warp, t, cg::plus<int>());
  cuda::std::array<int, 3> three{1, 2, 3};
  cuda::std::span<int> view(three);
  cuda::std::optional<int> two = three[1];
  auto [first, second] = cuda::std::make_tuple(three[2], 9.0f);
  int s = 0;
  for (int x : view) s += x;
  y[t] = sum + s + *two + first + int(second);
}

// kernel chosen grid 1 block 32
// in n int32 = np.arange(32) % 3
// out y int32 = [[3, 6, 9][t % 3] for t in range(32)]
// one of several arrays, of another one in each lane
extern "C" __global__ void chosen(const int *n, int *y) {
  int a[3] = {1, 1, 1}, b[3] = {2, 2, 2}, c[3] = {3, 3, 3}, *table[3] = {a, b, c}, s = 0;
  int *p = table[n[threadIdx.x]];
  for (int i = 0; i < 3; ++i) s += *p++;
  y[threadIdx.x] = s;
}

// kernel copies grid 1 block 32
// out y int32 = np.full(32, 4 + 9)
// structs by value, returned, and copied by bytes
struct Pair { int v[2]; char c; };
__device__ __noinline__ Pair twice(Pair p) { exchange(p.v[0], p.v[1]); return p; }
extern "C" __global__ void copies(int *y) {
  Pair a = {{9, 4}, 'a'}, b, c[2];
  b = twice(a);
  memcpy(&c[1], &b, sizeof b);
  memset(c, 0, sizeof c[0]);
  y[threadIdx.x] = c[1].v[0] + c[1].v[1] + c[0].v[0];
}

// kernel sorted_pointers grid 1 block 32
// out y int32 = np.full(32, 123)
// pointers to variables are sorted by what they point to, and compared
extern "C" __global__ void sorted_pointers(int *y) {
  int x = 3, z = 1, w = 2, *p[3] = {&x, &z, &w};
  for (int i = 0; i < 3; ++i)
    for (int j = i + 1; j < 3; ++j)
      if (*p[j] < *p[i]) exchange(p[i], p[j]);
  y[threadIdx.x] = *p[0] * 100 + *p[1] * 10 + *p[2] + (p[0] == p[1]);
}

// kernel beside_another grid 1 block 32
// in n int32 = [3]
// inout y float32 = np.zeros(32) -> _
// finds invalid-access error past the end of local `a` (3 elements of 4 bytes)
// the same as `ends`, with a count that is one too high
extern "C" __global__ void beside_another(const int *n, float *y) {
  float a[3], b[3];
  fill(b, 3, 10);
  fill(a, n[0] + 1, 0);
  y[threadIdx.x] = total(a, a + 3) + b[1];
}
