// Instructions and intrinsics that programs use, compared with NumPy.
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
// kernel prmt_all grid 1 block 32
// in x uint32 = rng.integers(0, 2**32, 32)
// in y uint32 = rng.integers(0, 2**32, 32)
// out z uint32 = [int.from_bytes(bytes([(int(a)|int(b)<<32)>>8*k & 255 for k in (3,0,5,6)]),'little') for a,b in zip(x,y)]
// out w uint32 = [int.from_bytes(bytes([((int(a)|int(b)<<32)>>8*((t+k)%8)) & 255 for k in range(4)]),'little') for t,(a,b) in enumerate(zip(x,y))]
extern "C" __global__ void prmt_all(const unsigned *x, const unsigned *y, unsigned *z, unsigned *w) {
  int t = threadIdx.x; unsigned r;
  z[t] = __byte_perm(x[t], y[t], 0x6503);
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(x[t]), "r"(y[t]), "r"(t % 4));
  unsigned long long v = (unsigned long long)y[t] << 32 | x[t];
  unsigned q = 0; for (int k = 0; k < 4; k++) q |= (unsigned)(v >> 8 * ((t + k) % 8) & 255) << 8 * k;
  w[t] = t % 8 < 4 ? (q == r ? q : 0xdead) : q;
}
// kernel wide grid 1 block 64
// in x int32 = rng.integers(-2**31, 2**31, 64)
// in y int32 = rng.integers(-2**31, 2**31, 64)
// out z int64 = x.astype(np.int64) * y.astype(np.int64) + 7
// out h int32 = (x.astype(np.int64) * y.astype(np.int64)) >> 32
// out u uint64 = x.view(np.uint32).astype(np.uint64) * y.view(np.uint32).astype(np.uint64)
extern "C" __global__ void wide(const int *x, const int *y, long long *z, int *h, unsigned long long *u) {
  int t = threadIdx.x; long long r; unsigned long long v; int hi;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(r) : "r"(x[t]), "r"(y[t]), "l"(7LL));
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(v) : "r"(x[t]), "r"(y[t]));
  asm("{ .reg .u32 lo; mul.hi.s32 %0, %1, %2; }" : "=r"(hi) : "r"(x[t]), "r"(y[t]));
  z[t] = r; u[t] = v; h[t] = hi;
}
// kernel int128_math grid 1 block 32
// in a int64 = rng.integers(-2**62, 2**62, 32)
// in b int64 = rng.integers(1, 2**62, 32)
// out hi int64 = [(int(u) * int(v)) >> 64 for u, v in zip(a, b)]
// out lo uint64 = [(int(u) * int(v)) & (2**64 - 1) for u, v in zip(a, b)]
// out q int64 = [abs(int(u)) * 1000003 // int(v) for u, v in zip(a, b)]
extern "C" __global__ void int128_math(const long long *a, const long long *b, long long *hi, unsigned long long *lo, long long *q) {
  int t = threadIdx.x; __int128 p = (__int128)a[t] * b[t];
  hi[t] = (long long)(p >> 64); lo[t] = (unsigned long long)p;
  __int128 n = (a[t] < 0 ? -(__int128)a[t] : (__int128)a[t]) * 1000003; q[t] = (long long)(n / b[t]);
}
// kernel carry grid 1 block 32
// in a uint32 = rng.integers(0, 2**32, (32, 4))
// in b uint32 = rng.integers(0, 2**32, (32, 4))
// out s uint32 = [[(sum(int(v) << 32 * k for k, v in enumerate(r)) + sum(int(v) << 32 * k for k, v in enumerate(q))) >> 32 * k & 0xFFFFFFFF for k in range(4)] for r, q in zip(a, b)]
// out d uint32 = [[(sum(int(v) << 32 * k for k, v in enumerate(r)) - sum(int(v) << 32 * k for k, v in enumerate(q))) >> 32 * k & 0xFFFFFFFF for k in range(4)] for r, q in zip(a, b)]
extern "C" __global__ void carry(const uint4 *a, const uint4 *b, uint4 *s, uint4 *d) {
  uint4 x = a[threadIdx.x], y = b[threadIdx.x], r;
  asm("add.cc.u32 %0, %4, %8; addc.cc.u32 %1, %5, %9; addc.cc.u32 %2, %6, %10; addc.u32 %3, %7, %11;"
      : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
  s[threadIdx.x] = r;
  asm("sub.cc.u32 %0, %4, %8; subc.cc.u32 %1, %5, %9; subc.cc.u32 %2, %6, %10; subc.u32 %3, %7, %11;"
      : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
  d[threadIdx.x] = r;
}
// kernel hints grid 2 block 64
// in x float32 = rng.random(128)
// in x4 float32 = rng.random(512)
// out y float32 = x + x4.reshape(128, 4)[:, 0]
extern "C" __global__ void hints(const float *__restrict__ x, const float4 *__restrict__ x4, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; float a, b, c; float4 v;
  asm volatile("prefetch.global.L2 [%0];" :: "l"(x + i));
  asm volatile("prefetchu.L1 [%0];" :: "l"(x + i));
  asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(a) : "l"(x + i));
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(b) : "l"(x + i));
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(c) : "l"(x + i));
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x4 + i));
  bool same = __ldcs(x + i) == a && __ldlu(x + i) == a && __ldcv(x + i) == a && __ldg(x + i) == a;
  a = a == b && b == c && same ? a + v.x : NAN;
  asm volatile("st.global.cs.f32 [%0], %1;" :: "l"(y + i), "f"(0.f) : "memory");
  __stwt(y + i, a);
}
// kernel red_ops grid 4 block 64
// inout s int32 = np.zeros(8) -> [256, 255, 0, 256*255//2, 255, 0, 1, 0]
// inout f float32 = np.zeros(1) -> [256*255/2]
extern "C" __global__ void red_ops(int *s, float *f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile("red.global.add.u32 [%0], 1;" :: "l"(s) : "memory");
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" :: "l"(s + 1), "r"(i) : "memory");
  asm volatile("red.global.min.s32 [%0], %1;" :: "l"(s + 2), "r"(i) : "memory");
  atomicAdd(s + 3, i); asm volatile("red.global.or.b32 [%0], %1;" :: "l"(s + 4), "r"(i) : "memory");
  asm volatile("red.global.and.b32 [%0], %1;" :: "l"(s + 5), "r"(i) : "memory");
  int old; asm volatile("atom.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(s + 6) : "memory");
  asm volatile("red.global.add.f32 [%0], %1;" :: "l"(f), "f"((float)i) : "memory");
}
// kernel warp_ops grid 1 block 64
// out m uint32 = [sum(1 << l for l in range(32) if l % 5 == (t % 32) % 5) for t in range(64)]
// out r int32 = [496 if t < 32 else 496 + 32 * 32 for t in range(64)]
// out a uint32 = [0x55555555 if t % 2 == 0 else 0xAAAAAAAA for t in range(64)]
// out e int32 = [1 if t % 32 == 0 else 0 for t in range(64)]
extern "C" __global__ void warp_ops(unsigned *m, int *r, unsigned *a, int *e) {
  int t = threadIdx.x; m[t] = __match_any_sync(~0u, t % 32 % 5);
  int p; unsigned full = __match_all_sync(~0u, 3, &p);
  r[t] = __reduce_add_sync(full, t);
  if (t % 2) a[t] = __activemask() & 0xAAAAAAAA; else a[t] = 0x55555555 & ~0u;
  unsigned leader; int is;
  asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.s32 %1, 1, 0, p; }" : "=r"(leader), "=r"(is));
  e[t] = is; __nanosleep(20);
}
// kernel cvts grid 1 block 32
// in x float32 = np.array([0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3e9, -3e9, np.inf, -np.inf, np.nan, 1e-40, 123.456, -7.999] * 2)
// out a int32 = np.array([0, 0, 0, 2, 2, 0, -2, -2, 2147483647, -2147483648, 2147483647, -2147483648, 0, 0, 123, -8] * 2)
// out b int32 = np.array([0, 0, 0, 1, 2, 0, -1, -2, 2147483647, -2147483648, 2147483647, -2147483648, 0, 0, 123, -7] * 2)
// out c uint32 = np.array([0, 0, 1, 2, 3, 0, 0, 0, 3000000000, 0, 4294967295, 0, 0, 1, 124, 0] * 2)
// out d int32 = np.array([0, 0, 0, 1, 2, -1, -2, -3, 2147483647, -2147483648, 2147483647, -2147483648, 0, 0, 123, -8] * 2)
extern "C" __global__ void cvts(const float *x, int *a, int *b, unsigned *c, int *d) {
  int t = threadIdx.x; float v = x[t];
  a[t] = __float2int_rn(v); b[t] = (int)v;
  asm("cvt.rpi.u32.f32 %0, %1;" : "=r"(c[t]) : "f"(v)); d[t] = __float2int_rd(v);
}
// kernel bits_as grid 1 block 32
// in x float32 = rng.standard_normal(32)
// out y int32 = x.view(np.int32)
// out z float32 = -x
// out w uint64 = x.astype(np.float64).view(np.uint64)
extern "C" __global__ void bits_as(const float *x, int *y, float *z, unsigned long long *w) {
  int t = threadIdx.x; y[t] = __float_as_int(x[t]); z[t] = __int_as_float(__float_as_int(x[t]) ^ 0x80000000);
  double d = x[t]; w[t] = (unsigned long long)__hiloint2double(__double2hiint(d), __double2loint(d)) * 0 + __double_as_longlong(d);
}
// kernel simd grid 1 block 64
// in a uint32 = rng.integers(0, 2**32, 64)
// in b uint32 = rng.integers(0, 2**32, 64)
// out s uint32 = (a.view(np.uint8) + b.view(np.uint8)).view(np.uint32)
// out m uint32 = np.maximum(a.view(np.uint8), b.view(np.uint8)).view(np.uint32)
// out d uint32 = np.abs(a.view(np.uint8).astype(int) - b.view(np.uint8)).astype(np.uint8).view(np.uint32)
// out e uint32 = np.where(a.view(np.int16) > b.view(np.int16), 0xFFFF, 0).astype(np.uint16).view(np.uint32)
// out q uint32 = np.clip(a.view(np.int8).astype(int) + b.view(np.int8), -128, 127).astype(np.int8).view(np.uint32)
// out h uint32 = np.abs(a.view(np.uint8).astype(int) - b.view(np.uint8)).reshape(-1, 4).sum(1)
// out g uint32 = ((a.view(np.uint8).astype(int) + b.view(np.uint8) + 1) >> 1).astype(np.uint8).view(np.uint32)
extern "C" __global__ void simd(const unsigned *a, const unsigned *b, unsigned *s, unsigned *m, unsigned *d, unsigned *e, unsigned *q, unsigned *h, unsigned *g) {
  int t = threadIdx.x; unsigned x = a[t], y = b[t];
  s[t] = __vadd4(x, y); m[t] = __vmaxu4(x, y); d[t] = __vabsdiffu4(x, y); e[t] = __vcmpgts2(x, y); q[t] = __vaddss4(x, y); h[t] = __vsadu4(x, y); g[t] = __vavgu4(x, y);
}
// kernel dp grid 1 block 32
// in a int32 = rng.integers(-2**31, 2**31, 32)
// in b int32 = rng.integers(-2**31, 2**31, 32)
// out x int32 = (a.view(np.int8).astype(int) * b.view(np.int8)).reshape(32, 4).sum(1) + 5
// out y int32 = (a.view(np.int16).astype(int).reshape(32, 2) * b.view(np.int8).astype(int).reshape(32, 4)[:, :2]).sum(1) - 3
extern "C" __global__ void dp(const int *a, const int *b, int *x, int *y) { int t = threadIdx.x; x[t] = __dp4a(a[t], b[t], 5); y[t] = __dp2a_lo(a[t], b[t], -3); }
// kernel pdl grid 2 block 32
// out y int32 = np.arange(64)
extern "C" __global__ void pdl(int *y) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  y[blockIdx.x * 32 + threadIdx.x] = blockIdx.x * 32 + threadIdx.x;
}
// kernel groups_async grid 1 block 64
// in x float32 = rng.random(256)
// out y float32 = x[::-1]
extern "C" __global__ void groups_async(const float *x, float *y) {
  __shared__ __align__(16) float s[4][64]; int t = threadIdx.x;
  for (int k = 0; k < 4; k++) {
    if (t < 16) { unsigned to = (unsigned)__cvta_generic_to_shared(&s[k][t * 4]);
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(to), "l"(x + k * 64 + t * 4)); }
    asm volatile("cp.async.commit_group;");
  }
  asm volatile("cp.async.wait_group 2;" ::: "memory"); __syncthreads();
  for (int k = 0; k < 2; k++) y[255 - k * 64 - t] = s[k][t];
  asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads();
  for (int k = 2; k < 4; k++) y[255 - k * 64 - t] = s[k][t];
}
// kernel bulk grid 2 block 64
// in x float32 = rng.random(512)
// out y float32 = 2 * x
extern "C" __global__ void bulk(const float *x, float *y) {
  __shared__ __align__(128) float s[256]; __shared__ __align__(8) uint64_t bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);
  if (threadIdx.x == 0) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b)); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(b) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" :: "r"(to), "l"(x + blockIdx.x * 256), "r"(b) : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" :: "r"(b) : "memory");
  for (int i = threadIdx.x; i < 256; i += 64) s[i] *= 2;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" :: "l"(y + blockIdx.x * 256), "r"(to) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
// kernel special grid 2,3 block 8,4,2
// out n uint32 = np.tile(np.arange(64), 6) * 0 + np.repeat(np.arange(6), 64)
extern "C" __global__ void special(unsigned *n) {
  unsigned cx, cy, nx, lane, warp, nw;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(cx)); asm("mov.u32 %0, %%ctaid.y;" : "=r"(cy)); asm("mov.u32 %0, %%nctaid.x;" : "=r"(nx));
  asm("mov.u32 %0, %%laneid;" : "=r"(lane)); asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp)); asm("mov.u32 %0, %%nwarpid;" : "=r"(nw));
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned lt; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  bool good = lane == t % 32 && lt == (1u << lane) - 1;
  n[(cy * nx + cx) * 64 + t] = good ? cy * nx + cx : 99;
}
// kernel isspace grid 1 block 32
// in x float32 = rng.random(32)
// out y int32 = np.full(32, 9)
__constant__ int table[4] = {1, 2, 3, 4};
extern "C" __global__ void isspace(const float *x, int *y) {
  __shared__ int s[32]; int l[2] = {0, 1}; int t = threadIdx.x; s[t] = 0;
  int r = __isGlobal(x) + 2 * __isGlobal(s) + 4 * __isShared(x + t) + 8 * __isShared(s + t) + 16 * __isLocal(s);
  y[t] = r + (l[t & 1] > 5) + (table[t % 4] > 4);
}
// kernel votes grid 1 block 64
// out y uint32 = [0x88888888 if i % 4 == 3 else 1 for i in range(64)]
extern "C" __global__ void votes(unsigned *y) {
  unsigned b = __ballot_sync(~0u, threadIdx.x % 4 == 3); bool any = __any_sync(~0u, threadIdx.x == 40), all = __all_sync(~0u, threadIdx.x < 64);
  y[threadIdx.x] = threadIdx.x % 4 == 3 ? b : all && any == (threadIdx.x >= 32);
}
// kernel shuffles grid 1 block 32
// out y int32 = [((i ^ 5) + (i + 1 if i < 31 else 31) + (i - 2 if i > 1 else i) + i // 8 * 8 + 3) for i in range(32)]
extern "C" __global__ void shuffles(int *y) {
  int t = threadIdx.x; y[t] = __shfl_xor_sync(~0u, t, 5) + __shfl_down_sync(~0u, t, 1) + __shfl_up_sync(~0u, t, 2) + __shfl_sync(~0u, t, 3, 8);
}
// kernel dpx grid 1 block 32
// out y int32 = [max(max(i - 9, 7 - i), 0) + max(i, 5, 11) + max(i + 3, 20) for i in range(32)]
extern "C" __global__ void dpx(int *y) { int t = threadIdx.x; y[t] = __vimax_s32_relu(t - 9, 7 - t) + __vimax3_s32(t, 5, 11) + __viaddmax_s32(t, 3, 20); }
