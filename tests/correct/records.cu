// Structs with padding, bit fields and unions, copied whole and in parts.

#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstddef>
#include <cstdint>
#include <cstring>

struct Node { double key; int next; };            // 16 bytes, 4 of padding
struct alignas(16) Vec3 { float x, y, z; };       // padding of 4
struct Hdr { uint8_t tag; uint16_t len; uint32_t crc; };

// kernel pad_by_member grid 1 block 64
// in key float64 = np.arange(64.) * 2
// out sum float64 = [4032.0]
// padded struct built by member, copied whole through shared memory
extern "C" __global__ void pad_by_member(const double *key, double *sum) {
  __shared__ Node s[64];
  int t = threadIdx.x;
  s[t].key = key[t];
  s[t].next = t + 1;
  __syncthreads();
  Node mine = s[63 - t];
  __syncthreads();
  s[t] = mine;
  __syncthreads();
  if (t == 0) { double a = 0; for (int i = 0; i < 64; ++i) { Node n = s[i]; a += n.key + 0 * n.next; } sum[0] = a; }
}

struct Flags { unsigned a : 3; unsigned b : 5; int c : 9; unsigned d : 1; };

// kernel bits_shared grid 1 block 96
// out y int32 = [(t % 8) + (t % 32) * 10 + (t - 48) + (t & 1) for t in range(96)]
extern "C" __global__ void bits_shared(int *y) {
  __shared__ Flags f[96];
  int t = threadIdx.x;
  f[t].a = t; f[t].b = t; f[t].c = t - 48; f[t].d = t;
  __syncthreads();
  Flags g = f[t];
  y[t] = g.a + g.b * 10 + g.c + g.d;
}

// kernel bits_two_threads grid 1 block 64
// out y int32 = np.zeros(32)
// neighbours write different bit-fields of the same word: a lost update
extern "C" __global__ void bits_two_threads(int *y) {
  __shared__ Flags f[32];
  int t = threadIdx.x;
  if (t < 32) { f[t].a = 0; f[t].b = 0; f[t].c = 0; f[t].d = 0; }
  __syncthreads();
  if (t < 32) f[t].a = t;  // <- race
  else f[t - 32].b = t;  // <- race
  __syncthreads();
  if (t < 32) y[t] = f[t].a + f[t].b;
}

union Word { float f; uint32_t u; uint16_t h[2]; uint8_t b[4]; };

// kernel union_bytes grid 1 block 64
// in x float32 = np.arange(64.) + 0.5
// out y uint32 = x.view(np.uint32) >> 16
extern "C" __global__ void union_bytes(const float *x, unsigned *y) {
  Word w; w.f = x[threadIdx.x];
  y[threadIdx.x] = w.b[2] | (w.b[3] << 8);
}

// kernel union_half_set grid 1 block 64
// in x uint16 = np.arange(64)
// out y uint32 = x
extern "C" __global__ void union_half_set(const uint16_t *x, unsigned *y) {
  __shared__ Word w[64];
  w[threadIdx.x].h[0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = w[threadIdx.x ^ 1].u & 0xffff;
  y[threadIdx.x] = w[threadIdx.x].u & 0xffff;
}

// kernel union_half_unset grid 1 block 64
// in x uint16 = np.arange(64)
// out y uint32 = x
extern "C" __global__ void union_half_unset(const uint16_t *x, unsigned *y) {
  __shared__ Word w[64];
  w[threadIdx.x].h[0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = w[threadIdx.x ^ 1].u & 0x1ffff;  // <- uninitialized-read
}

// kernel header_bytes grid 1 block 32
// out y uint32 = np.arange(32) * 3 + 5
extern "C" __global__ void header_bytes(unsigned *y) {
  __shared__ Hdr h[32];
  h[threadIdx.x] = Hdr{uint8_t(threadIdx.x), 5, 2 * threadIdx.x};
  __syncwarp();
  Hdr g = h[threadIdx.x];
  y[threadIdx.x] = g.tag + g.len + g.crc;
}

// kernel memcpy_struct grid 1 block 32
// in a uint8 = np.arange(256)
// out y uint32 = [int(a[8*i]) + int.from_bytes(bytes(a[8*i+4:8*i+8]), "little") for i in range(32)]
extern "C" __global__ void memcpy_struct(const uint8_t *a, unsigned *y) {
  Hdr g;
  memcpy(&g, a + 8 * threadIdx.x, sizeof g);
  y[threadIdx.x] = g.tag + g.crc;
}

struct Acc { float m; float l; __half2 v; short pad; };
// kernel struct_shuffle grid 1 block 32
// in x float32 = np.arange(32.)
// out y float32 = np.full(32, 31.0)
extern "C" __global__ void struct_shuffle(const float *x, float *y) {
  Acc a; a.m = x[threadIdx.x]; a.l = 1; a.v = __float2half2_rn(1.f);
  for (int o = 16; o; o /= 2) {
    Acc b;
    b.m = __shfl_xor_sync(~0u, a.m, o);
    b.l = __shfl_xor_sync(~0u, a.l, o);
    b.v = __shfl_xor_sync(~0u, a.v, o);
    a.m = fmaxf(a.m, b.m); a.l += b.l; a.v = __hadd2(a.v, b.v);
  }
  y[threadIdx.x] = a.m + 0.f * (a.l + __low2float(a.v));
}

// kernel int4_component_reuse grid 1 block 64
// inout q int32 = np.zeros(256) -> _
// out y int32 = np.zeros(64)
// reads only .x and .w of an int4 whose .y its neighbour writes
extern "C" __global__ void int4_component_reuse(int4 *q, int *y) {
  int t = threadIdx.x;
  q[(t + 33) % 64].y = t;
  int4 v = q[t];
  y[t] = v.x + v.w;
}

// kernel int4_whole_stored grid 1 block 64
// inout q int32 = np.zeros(256) -> _
// out y int32 = np.zeros(256)
extern "C" __global__ void int4_whole_stored(int4 *q, int4 *y) {
  int t = threadIdx.x;
  q[(t + 33) % 64].y = t;  // <- race
  y[t] = q[t];  // <- race
}

struct Big { int n; float w[5]; char c; };
// kernel big_by_value grid 1 block 32
// out y float32 = np.arange(32) * 5.0 + 10
__device__ __noinline__ float total(Big b) { float s = 0; for (int i = 0; i < 5; ++i) s += b.w[i]; return s + (b.c == 'x'); }
extern "C" __global__ void big_by_value(float *y) {
  Big b; b.n = 1; b.c = 'y';
  for (int i = 0; i < 5; ++i) b.w[i] = threadIdx.x + i;
  y[threadIdx.x] = total(b);
}

// kernel bf16_pair grid 1 block 64
// out y float32 = np.arange(64) * 1.0
extern "C" __global__ void bf16_pair(float *y) {
  __shared__ __nv_bfloat162 s[64];
  s[threadIdx.x].x = __float2bfloat16(threadIdx.x);
  __syncthreads();
  y[63 - threadIdx.x] = __bfloat162float(s[63 - threadIdx.x].x);
}


// The object around a member, by the member's offset, which is a constant.
struct Linked { int value; struct { void *next; } link; };
static_assert(offsetof(Linked, link) == 8);
// kernel object_of_member grid 1 block 32
// out y int32 = 3 * np.arange(32) + 3
extern "C" __global__ void object_of_member(int *y) {
  Linked all[3];
  void *head = nullptr;
  for (int k = 0; k < 3; ++k) {
    all[k].value = threadIdx.x + k;
    all[k].link.next = head;
    head = &all[k].link;
  }
  int sum = 0;
  while (head != nullptr) {
    auto *object = reinterpret_cast<Linked *>(static_cast<char *>(head) - offsetof(Linked, link));
    sum += object->value;
    head = object->link.next;
  }
  y[threadIdx.x] = sum;
}

// A struct is copied with its padding as a vector; the sum takes members from the vector's registers.
// kernel pad_by_vector grid 1 block 32
// out y float32 = np.arange(32)[::-1] * 3. + 2
extern "C" __global__ void pad_by_vector(float *y) {
  struct alignas(16) Sample { float height, weight; short count; };
  __shared__ Sample s[32], kept[32];
  int t = threadIdx.x;
  s[t].height = t;
  s[t].weight = 2 * t;
  s[t].count = 2;
  __syncthreads();
  reinterpret_cast<int4 *>(kept)[t] = reinterpret_cast<const int4 *>(s)[31 - t];
  y[t] = kept[t].height + kept[t].weight + kept[t].count;
}
