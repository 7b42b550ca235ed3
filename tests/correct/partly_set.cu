// Variables, structs and tiles that are set in part, as programs do: right ones that look wrong, and wrong ones.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

// kernel dp4a_padded grid 1 block 32
// out y int32 = [sum(i % 7 for i in range(4 * t, min(4 * t + 4, 130))) for t in range(32)]
extern "C" __global__ void dp4a_padded(int *y) {
  __shared__ alignas(4) signed char a[132];
  int t = threadIdx.x;
  for (int i = t; i < 130; i += 32) a[i] = i % 7;
  if (t < 2) a[130 + t] = 0;
  __syncthreads();
  int acc = 0;
  for (int i = t; i < 33; i += 32) acc = i < 32 ? __dp4a(*(int *)&a[4 * i], 0x01010101, acc) : acc;
  y[t] = acc;
}

// Wrong: the last word has two bytes only.
// kernel dp4a_not_padded grid 1 block 33
// out y int32 = np.zeros(33)
extern "C" __global__ void dp4a_not_padded(int *y) {
  __shared__ alignas(4) signed char a[132];
  int t = threadIdx.x;
  for (int i = t; i < 130; i += 33) a[i] = i % 7;
  __syncthreads();
  y[t] = __dp4a(*(int *)&a[4 * t], 0x01010101, 0);  // <- uninitialized-read
}

struct alignas(16) Node { int key; short level; double weight; };

// kernel node_by_vector grid 1 block 32
// out y int32 = 3 * np.arange(32)[::-1]
extern "C" __global__ void node_by_vector(int *y) {
  __shared__ Node a[32], b[32];
  int t = threadIdx.x;
  a[t].key = a[t].level = t;
  a[t].weight = t;
  __syncthreads();
  *(int4 *)&b[t] = *(int4 *)&a[31 - t];
  __syncthreads();
  y[t] = b[t].key + b[t].level + (int)b[t].weight;
}

// Wrong: a member was never set.
// kernel node_member grid 1 block 32
// out y int32 = 3 * np.arange(32)[::-1]
extern "C" __global__ void node_member(int *y) {
  __shared__ Node a[32], b[32];
  int t = threadIdx.x;
  a[t].key = t;
  a[t].weight = t;
  __syncthreads();
  *(int4 *)&b[t] = *(int4 *)&a[31 - t];
  __syncthreads();
  y[t] = b[t].key + b[t].level + (int)b[t].weight;  // <- uninitialized-read
}

struct Value { int tag; union { int i; double d; }; };

// kernel tagged grid 1 block 32
// out y int32 = np.arange(32) ^ 3
extern "C" __global__ void tagged(int *y) {
  __shared__ Value v[32];
  int t = threadIdx.x;
  v[t].tag = t & 1;
  if (t & 1) v[t].i = t;
  else v[t].d = t;
  __syncthreads();
  Value u = v[t ^ 3];
  y[t] = u.tag ? u.i : (int)u.d;
}

// Wrong: the other member of the union.
// kernel tagged_otherwise grid 1 block 32
// out y int32 = np.arange(32) ^ 3
extern "C" __global__ void tagged_otherwise(int *y) {
  __shared__ Value v[32];
  int t = threadIdx.x;
  v[t].tag = t & 1;
  if (t & 1) v[t].i = t;
  else v[t].d = t;
  __syncthreads();
  Value u = v[t ^ 3];  // <- uninitialized-read
  y[t] = u.tag ? (int)u.d : u.i;
}

struct Ray { float3 from, to; float at; bool hit; };
__device__ bool cast(Ray &r, float z) {
  if (r.to.z == 0) return false;
  r.at = (z - r.from.z) / r.to.z;
  return true;
}

// kernel ray grid 1 block 32
// out y float32 = [6 / (t % 4) if t % 4 else -1 for t in range(32)]
extern "C" __global__ void ray(float *y) {
  Ray r;
  r.from = make_float3(threadIdx.x, 0, 0);
  r.to = make_float3(0, 0, threadIdx.x % 4);
  r.hit = cast(r, 6);
  Ray c = r;
  y[threadIdx.x] = c.hit ? c.at : -1.f;
}

// Wrong: a ray that hits nothing has no distance.
// kernel ray_without_hit grid 1 block 32
// finds uninitialized-read error `c.at`
// out y float32 = np.zeros(32)
extern "C" __global__ void ray_without_hit(float *y) {
  Ray r;
  r.from = make_float3(threadIdx.x, 0, 0);
  r.to = make_float3(0, 0, threadIdx.x % 4);
  r.hit = cast(r, 6);
  Ray c = r;
  y[threadIdx.x] = c.at;  // <- uninitialized-read
}

// kernel from_leader grid 1 block 32
// out y int32 = np.arange(32) + 5
extern "C" __global__ void from_leader(int *y) {
  int t = threadIdx.x, v;
  if (t == 0) v = 5;
  v = __shfl_sync(~0u, v, 0);
  y[t] = v + t;
}

// Wrong: half of the lanes read another one.
// kernel from_neighbor grid 1 block 32
// out y int32 = np.arange(32) + 5
extern "C" __global__ void from_neighbor(int *y) {
  int t = threadIdx.x, v;
  if (t == 0) v = 5;
  v = __shfl_sync(~0u, v, t & 1);
  y[t] = v + t;  // <- uninitialized-read
}

// kernel captured grid 1 block 32
// out y int32 = 2 + np.arange(32) % 2 * 4
extern "C" __global__ void captured(int *y) {
  int a[4];
  a[0] = 1;
  a[1] = 3;
  auto f = [a](int i) { return a[i] * 2; };
  auto g = f;
  y[threadIdx.x] = g(threadIdx.x & 1);
}

// Wrong: two of four were set.
// kernel captured_unset grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void captured_unset(int *y) {
  int a[4];
  a[0] = 1;
  a[1] = 3;
  auto f = [a](int i) { return a[i] * 2; };  // <- uninitialized-read
  auto g = f;
  y[threadIdx.x] = g(threadIdx.x & 3);
}

struct Quantized { signed char q[4]; float scale; };

// Wrong: three of four lanes store their byte.
// kernel quantized_block grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void quantized_block(int *y) {
  __shared__ Quantized b[8];
  int t = threadIdx.x;
  if (t % 4 < 3) b[t / 4].q[t % 4] = t;
  if (t % 4 == 0) b[t / 4].scale = 0.5f;
  __syncthreads();
  int p = *(int *)b[t / 4].q;  // <- uninitialized-read
  y[t] = (int)(__dp4a(p, 0x01010101, 0) * b[t / 4].scale);
}

struct alignas(4) Message { unsigned char type; unsigned short length; unsigned char body[5]; };

// kernel messages_by_words grid 1 block 32
// out y int32 = np.arange(32) % 8 + 5 + np.arange(32) % 5
extern "C" __global__ void messages_by_words(int *y) {
  __shared__ Message in[8], out[8];
  int t = threadIdx.x;
  if (t < 8) {
    in[t].type = t;
    in[t].length = 5;
    for (int i = 0; i < 5; ++i) in[t].body[i] = i;
  }
  __syncthreads();
  for (int i = t; i < (int)sizeof(in) / 4; i += 32) ((int *)out)[i] = ((const int *)in)[i];
  __syncthreads();
  y[t] = out[t % 8].type + out[t % 8].length + out[t % 8].body[t % 5];
}

// kernel copied_in_part grid 1 block 32
// in x int32 = np.arange(64)
// out y int32 = np.arange(32) + 8
extern "C" __global__ void copied_in_part(const int *x, int *y) {
  __shared__ int s[64];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s, x, sizeof(int) * 40);
  cg::wait(b);
  y[threadIdx.x] = s[threadIdx.x + 8];
}

// Wrong: elements for bytes.
// kernel copied_too_few grid 1 block 32
// in x int32 = np.arange(64)
// out y int32 = np.arange(32)
extern "C" __global__ void copied_too_few(const int *x, int *y) {
  __shared__ int s[64];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s, x, 40);
  cg::wait(b);
  y[threadIdx.x] = s[threadIdx.x];  // <- uninitialized-read
}

// kernel reused_union grid 1 block 32
// out y int32 = 2 * np.arange(32)
extern "C" __global__ void reused_union(int *y) {
  __shared__ union { int a[64]; double d[32]; struct { short s; char c; } p[64]; } u;
  int t = threadIdx.x;
  u.a[t] = t;
  __syncthreads();
  int v = u.a[31 - t];
  __syncthreads();
  u.p[t].s = v;
  u.p[t].c = v;
  __syncthreads();
  v = u.p[31 - t].s + u.p[31 - t].c;
  __syncthreads();
  u.d[t] = v;
  __syncthreads();
  y[t] = (int)u.d[t];
}

// kernel half_pairs_padded grid 1 block 17
// out y float32 = [2 * t + 2 * t + 1 if t < 16 else 32 for t in range(17)]
extern "C" __global__ void half_pairs_padded(float *y) {
  __shared__ alignas(4) __half h[34];
  int t = threadIdx.x;
  h[2 * t] = __int2half_rn(2 * t);
  h[2 * t + 1] = __int2half_rn(t < 16 ? 2 * t + 1 : 0);
  __syncthreads();
  float2 f = __half22float2(*(__half2 *)&h[2 * t]);
  y[t] = f.x + f.y;
}

// Wrong: an odd number of halves, read in pairs.
// kernel half_pairs_odd grid 1 block 17
// out y float32 = np.zeros(17)
extern "C" __global__ void half_pairs_odd(float *y) {
  __shared__ alignas(4) __half h[34];
  int t = threadIdx.x;
  h[2 * t] = __int2half_rn(2 * t);
  if (t < 16) h[2 * t + 1] = __int2half_rn(2 * t + 1);
  __syncthreads();
  float2 f = __half22float2(*(__half2 *)&h[2 * t]);  // <- uninitialized-read
  y[t] = f.x + f.y;
}

// Members of what a parameter points to are named, though the host's array has numbers.
struct Particle { float x, y; int kind; float mass[2]; };
// kernel particle_without_y grid 1 block 4
// out p float32 = np.zeros(20)
// out o float32 = np.zeros(4)
// finds uninitialized-read error read of global `p[0].y`
extern "C" __global__ void particle_without_y(Particle *p, float *o) {
  int i = threadIdx.x;
  p[i].x = 1; p[i].kind = 2; p[i].mass[0] = 3; p[i].mass[1] = 4;
  o[i] = p[i].x + p[i].y;
}

// kernel particle_without_mass grid 1 block 4
// out p float32 = np.zeros(5)
// out o float32 = np.zeros(4)
// finds uninitialized-read error read of global `p->mass[1]`
extern "C" __global__ void particle_without_mass(Particle *p, float *o) {
  if (threadIdx.x == 0) { p->x = p->y = 1; p->kind = 2; p->mass[0] = 3; }
  __syncthreads();
  o[threadIdx.x] = p->mass[threadIdx.x & 1];
}

// kernel particle_with_all grid 1 block 4
// out p float32 = np.ones(5)
// out o float32 = np.ones(4)
extern "C" __global__ void particle_with_all(Particle *p, float *o) {
  if (threadIdx.x == 0) { p->x = p->y = 1; p->kind = 0x3f800000; p->mass[0] = p->mass[1] = 1; }
  __syncthreads();
  o[threadIdx.x] = p->mass[threadIdx.x & 1];
}
