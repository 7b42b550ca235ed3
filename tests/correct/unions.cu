// Unions, bit-fields, packed structs and vectors of small types, of which some parts have no value that nothing uses.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
union Word { unsigned w; unsigned char b[4]; unsigned short h[2]; float f; };
// kernel union_bytes grid 1 block 32
// out y uint32 = [t * 0x01010101 for t in range(32)][::-1]
extern "C" __global__ void union_bytes(unsigned *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  for (int k = 0; k < 4; k++) s[t].b[k] = t;
  __syncthreads();
  y[t] = s[31 - t].w;
}
// kernel union_one_byte_read grid 1 block 32
// out y uint32 = np.arange(32)[::-1]
extern "C" __global__ void union_one_byte_read(unsigned *y) {
  __shared__ Word s[32];
  int t = threadIdx.x;
  s[t].b[2] = t;
  __syncthreads();
  Word w = s[31 - t];
  y[t] = w.b[2];
}
// kernel union_local grid 1 block 32
// out y uint32 = np.arange(32)
extern "C" __global__ void union_local(unsigned *y) {
  Word w;
  w.h[1] = threadIdx.x;
  Word v = w;
  y[threadIdx.x] = v.h[1];
}
// kernel union_byte_shift grid 1 block 32
// out y uint32 = np.arange(32)
extern "C" __global__ void union_byte_shift(unsigned *y) {
  Word w;
  w.b[3] = threadIdx.x;
  y[threadIdx.x] = w.w >> 24;
}
struct Bits { unsigned a : 5; unsigned b : 7; unsigned c : 20; };
// kernel bits_two_of_three grid 1 block 32
// out y uint32 = 2 * np.arange(32)[::-1]
extern "C" __global__ void bits_two_of_three(unsigned *y) {
  __shared__ Bits s[32];
  int t = threadIdx.x;
  s[t].a = t; s[t].c = t;
  __syncthreads();
  Bits q = s[31 - t];
  y[t] = q.a + q.c;
}
// kernel bits_local grid 1 block 32
// out y uint32 = 2 * np.arange(32)
extern "C" __global__ void bits_local(unsigned *y) {
  Bits q;
  q.b = threadIdx.x; q.a = threadIdx.x;
  Bits r = q;
  y[threadIdx.x] = r.a + r.b;
}
#pragma pack(push, 1)
struct Packed { char c; int i; short s; };
#pragma pack(pop)
// kernel packed grid 1 block 32
// out y int32 = 3 * np.arange(32)[::-1]
extern "C" __global__ void packed(int *y) {
  __shared__ Packed s[32];
  int t = threadIdx.x;
  s[t].c = t; s[t].i = t; s[t].s = t;
  __syncthreads();
  Packed q = s[31 - t];
  y[t] = q.c + q.i + q.s;
}
// kernel packed_part grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void packed_part(int *y) {
  __shared__ Packed s[32];
  int t = threadIdx.x;
  s[t].i = t;
  __syncthreads();
  Packed q = s[31 - t];
  y[t] = q.i;
}
// kernel uchar4_three grid 1 block 32
// out y int32 = 3 * np.arange(32)[::-1]
extern "C" __global__ void uchar4_three(int *y) {
  __shared__ uchar4 s[32];
  int t = threadIdx.x;
  s[t].x = t; s[t].y = t; s[t].z = t;
  __syncthreads();
  uchar4 q = s[31 - t];
  y[t] = q.x + q.y + q.z;
}
// kernel uchar3_all grid 1 block 32
// out y int32 = 3 * np.arange(32)[::-1]
extern "C" __global__ void uchar3_all(int *y) {
  __shared__ uchar3 s[32];
  int t = threadIdx.x;
  s[t] = make_uchar3(t, t, t);
  __syncthreads();
  uchar3 q = s[31 - t];
  y[t] = q.x + q.y + q.z;
}
// kernel ushort2_one grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void ushort2_one(int *y) {
  __shared__ ushort2 s[32];
  int t = threadIdx.x;
  s[t].y = t;
  __syncthreads();
  ushort2 q = s[31 - t];
  y[t] = q.y;
}
// kernel ushort4_two grid 1 block 32
// out y int32 = 2 * np.arange(32)[::-1]
extern "C" __global__ void ushort4_two(int *y) {
  __shared__ ushort4 s[32];
  int t = threadIdx.x;
  s[t].y = t; s[t].w = t;
  __syncthreads();
  ushort4 q = s[31 - t];
  y[t] = q.y + q.w;
}
// kernel half2_low grid 1 block 32
// out y float32 = np.arange(32)[::-1]
extern "C" __global__ void half2_low(float *y) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __float2half(t);
  __syncthreads();
  __half2 h = s[31 - t];
  y[t] = __half2float(h.x);
}
// kernel half2_local grid 1 block 32
// out y float32 = np.arange(32)
extern "C" __global__ void half2_local(float *y) {
  __half2 h;
  h.x = __float2half(threadIdx.x);
  __half2 g = h;
  y[threadIdx.x] = __low2float(g);
}
// kernel bf162_low grid 1 block 32
// out y float32 = np.arange(32)[::-1]
extern "C" __global__ void bf162_low(float *y) {
  __shared__ __nv_bfloat162 s[32];
  int t = threadIdx.x;
  s[t].x = __float2bfloat16(t);
  __syncthreads();
  y[t] = __bfloat162float(s[31 - t].x);
}
// kernel double3_two grid 1 block 32
// out y float64 = 2.0 * np.arange(32)[::-1]
extern "C" __global__ void double3_two(double *y) {
  __shared__ double3 s[32];
  int t = threadIdx.x;
  s[t].x = t; s[t].z = t;
  __syncthreads();
  double3 q = s[31 - t];
  y[t] = q.x + q.z;
}
// kernel char1_vec grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void char1_vec(int *y) {
  __shared__ char1 s[32];
  int t = threadIdx.x;
  s[t].x = t;
  __syncthreads();
  char1 q = s[31 - t];
  y[t] = q.x;
}
// kernel longlong2_one grid 1 block 32
// out y int64 = np.arange(32)[::-1]
extern "C" __global__ void longlong2_one(long long *y) {
  __shared__ longlong2 s[32];
  int t = threadIdx.x;
  s[t].y = t;
  __syncthreads();
  longlong2 q = s[31 - t];
  y[t] = q.y;
}
struct Pair { short a, b; };
// kernel short_pair_one grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void short_pair_one(int *y) {
  __shared__ Pair s[32];
  int t = threadIdx.x;
  s[t].a = t;
  __syncthreads();
  Pair q = s[31 - t];
  y[t] = q.a;
}
struct __align__(4) PairA { short a, b; };
// kernel short_pair_aligned grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void short_pair_aligned(int *y) {
  __shared__ PairA s[32];
  int t = threadIdx.x;
  s[t].a = t;
  __syncthreads();
  PairA q = s[31 - t];
  y[t] = q.a;
}
// kernel memcpy_struct grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void memcpy_struct(int *y) {
  __shared__ PairA s[32];
  int t = threadIdx.x;
  s[t].b = t;
  __syncthreads();
  PairA q;
  memcpy(&q, &s[31 - t], sizeof q);
  y[t] = q.b;
}
// kernel builtin_memcpy_bits grid 1 block 32
// out y float32 = np.arange(32)
extern "C" __global__ void builtin_memcpy_bits(float *y) {
  float f = threadIdx.x; unsigned u; float g;
  memcpy(&u, &f, 4);
  memcpy(&g, &u, 4);
  y[threadIdx.x] = g;
}
struct Node { int key; Node *next; char tag; };
// kernel placement grid 1 block 32
// out y int32 = np.arange(32)[::-1]
extern "C" __global__ void placement(int *y) {
  __shared__ __align__(16) unsigned char pool[32 * sizeof(Node)];
  int t = threadIdx.x;
  Node *n = ::new ((void *)(pool + t * sizeof(Node))) Node;
  n->key = t;
  __syncthreads();
  Node m = reinterpret_cast<Node *>(pool)[31 - t];
  y[t] = m.key;
}
// kernel bool_flags grid 1 block 32
// out y int32 = [1 if t % 2 else 0 for t in range(32)][::-1]
extern "C" __global__ void bool_flags(int *y) {
  __shared__ bool s[32];
  int t = threadIdx.x;
  s[t] = t & 1;
  __syncthreads();
  bool b = s[31 - t];
  y[t] = b ? 1 : 0;
}
enum class Kind : unsigned char { A, B, C };
struct Shape { Kind kind; union { float r; float wh[2]; struct { float a, b, c; } tri; }; };
__device__ float area(const Shape &s) {
  switch (s.kind) {
    case Kind::A: return s.r;
    case Kind::B: return s.wh[0] * s.wh[1];
    default: return s.tri.a + s.tri.b + s.tri.c;
  }
}
// kernel variant_switch grid 1 block 30
// out y float32 = [t if t % 3 == 0 else 2 * t if t % 3 == 1 else 3 * t for t in range(30)][::-1]
extern "C" __global__ void variant_switch(float *y) {
  __shared__ Shape s[30];
  int t = threadIdx.x;
  Shape q;
  if (t % 3 == 0) { q.kind = Kind::A; q.r = t; }
  else if (t % 3 == 1) { q.kind = Kind::B; q.wh[0] = t; q.wh[1] = 2; }
  else { q.kind = Kind::C; q.tri.a = q.tri.b = q.tri.c = t; }
  s[t] = q;
  __syncthreads();
  Shape p = s[29 - t];
  y[t] = area(p);
}

// A union is copied whole: of the smaller member, the bytes beside it have no value, and no branch uses them.
union Box { int4 all; struct { unsigned char mark; int b, c; } part; };

// kernel whole_or_part grid 1 block 32
// out y int32 = [2 * i if i % 2 else 4 * i + 1 for i in range(32)]
extern "C" __global__ void whole_or_part(int *y) {
  __shared__ Box s[32];
  __shared__ bool full[32];
  int i = threadIdx.x;
  full[i] = i % 2 == 0;
  if (full[i]) s[i].all = make_int4(i, i, i, i + 1);
  else { s[i].part.mark = 1; s[i].part.b = i; s[i].part.c = i; }
  __syncthreads();
  Box u = s[i];
  y[i] = full[i] ? u.all.x + u.all.y + u.all.z + u.all.w : u.part.b + u.part.c;
}

// Wrong: the part has no fourth number.
// kernel whole_of_a_part grid 1 block 32
// out y int32 = [0] * 32
extern "C" __global__ void whole_of_a_part(int *y) {
  __shared__ Box s[32];
  int i = threadIdx.x;
  if (i % 2) s[i].all = make_int4(i, i, i, i + 1);
  else { s[i].part.mark = 1; s[i].part.b = i; s[i].part.c = i; }
  __syncthreads();
  Box u = s[i];  // <- uninitialized-read
  y[i] = u.part.b + u.all.w;  // <- uninitialized-read
}

// Of arrays of small numbers in a struct that is copied whole, some elements are set and used.
struct Small { char c[3]; int v[2]; short h[3]; };

// kernel some_elements grid 1 block 64
// out y int32 = np.arange(64) + 2
extern "C" __global__ void some_elements(int *y) {
  __shared__ Small s[64];
  int i = threadIdx.x;
  s[i].c[0] = 1; s[i].v[1] = i; s[i].h[1] = 1;
  __syncthreads();
  Small m = s[63 - i];
  y[63 - i] = m.c[0] + m.v[1] + m.h[1];
}

// kernel another_element grid 1 block 64
// out y int32 = np.arange(64) + 2
extern "C" __global__ void another_element(int *y) {
  __shared__ Small s[64];
  int i = threadIdx.x;
  s[i].c[0] = 1; s[i].v[1] = i; s[i].h[1] = 1;
  __syncthreads();
  Small m = s[63 - i];  // <- uninitialized-read
  y[63 - i] = m.c[2] + m.v[1] + m.h[1];  // <- uninitialized-read
}
