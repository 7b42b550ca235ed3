// Inline assembly and intrinsics, compared with NumPy.

#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <mma.h>
// kernel bits grid 1 block 64
// in x uint32 = (np.arange(64) * 2654435761 + 12345).astype(np.uint64) % 2**32
// out y uint32 = [(int(v) >> 5) & 0x7f for v in x]
// out z uint32 = [(int(v) & ~(0xff << 8)) | ((i & 0xff) << 8) for i, v in enumerate(x)]
// out w uint32 = [int(format(int(v), '032b')[::-1], 2) for v in x]
extern "C" __global__ void bits(const unsigned *x, unsigned *y, unsigned *z, unsigned *w) {
  int t = threadIdx.x; unsigned v = x[t], r;
  asm("bfe.u32 %0, %1, 5, 7;" : "=r"(r) : "r"(v)); y[t] = r;
  asm("bfi.b32 %0, %1, %2, 8, 8;" : "=r"(r) : "r"(t), "r"(v)); z[t] = r;
  w[t] = __brev(v);
}
// kernel sbfe grid 1 block 32
// in x int32 = np.arange(32) * 123456789 % 2000000007 - 1000000000
// out y int32 = [((int(v) >> 12) & 0xff) - (256 if (int(v) >> 12) & 0x80 else 0) for v in x]
extern "C" __global__ void sbfe(const int *x, int *y) {
  int r; asm("bfe.s32 %0, %1, 12, 8;" : "=r"(r) : "r"(x[threadIdx.x])); y[threadIdx.x] = r;
}
// kernel lop grid 1 block 32
// in x uint32 = np.arange(32) * 77777777 % 4294967291
// out y uint32 = [(int(v) & 0x0f0f0f0f) ^ 0x12345678 for v in x]
extern "C" __global__ void lop(const unsigned *x, unsigned *y) {
  unsigned r; asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(0x12345678), "r"(0x0f0f0f0f), "r"(x[threadIdx.x]));
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(0x0f0f0f0f), "r"(x[threadIdx.x]), "r"(0x12345678)); y[threadIdx.x] = r;
}
// kernel funnel grid 1 block 40
// out y uint32 = [((0x123456789abcdef0 << min(i & 31, 31)) >> 32) & 0xffffffff for i in range(40)]
// out z uint32 = [(0x123456789abcdef0 >> min(i, 32)) & 0xffffffff for i in range(40)]
extern "C" __global__ void funnel(unsigned *y, unsigned *z) {
  y[threadIdx.x] = __funnelshift_l(0x9abcdef0, 0x12345678, threadIdx.x);
  z[threadIdx.x] = __funnelshift_rc(0x9abcdef0, 0x12345678, threadIdx.x);
}
// kernel dots grid 1 block 32
// out y int32 = [5 + sum((((i + k) % 128)) * (k - 2) for k in range(4)) for i in range(32)]
extern "C" __global__ void dots(int *y) {
  int a = 0, b = 0, i = threadIdx.x;
  for (int k = 0; k < 4; ++k) { a |= ((i + k) % 128) << 8 * k; b |= ((k - 2) & 0xff) << 8 * k; }
  y[i] = __dp4a(a, b, 5);
}
// kernel find grid 1 block 32
// out y int32 = [(lambda bits: bits[i] if i < len(bits) else -1)([k for k in range(32) if 0xA5A5F00F >> k & 1]) for i in range(32)]
extern "C" __global__ void find(int *y) { y[threadIdx.x] = __fns(0xA5A5F00F, 0, threadIdx.x + 1); }
// kernel wide grid 1 block 32
// out y int64 = [(i * 1000003) * -77777 + (1 << 40) for i in range(32)]
// out z uint32 = [(((i * 1000003) * 4000000000) >> 32) & 0xffffffff for i in range(32)]
extern "C" __global__ void wide(long long *y, unsigned *z) {
  long long r; int a = threadIdx.x * 1000003;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(r) : "r"(a), "r"(-77777), "l"(1ll << 40)); y[threadIdx.x] = r;
  z[threadIdx.x] = __umulhi((unsigned)a, 4000000000u);
}
// kernel carry grid 1 block 32
// out y uint32 = [((0xffffffff + i) & 0xffffffff) for i in range(32)]
// out z uint32 = [7 + (1 if i else 0) for i in range(32)]
extern "C" __global__ void carry(unsigned *y, unsigned *z) {
  unsigned lo, hi;
  asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %4, %5;" : "=r"(lo), "=r"(hi) : "r"(0xffffffff), "r"(threadIdx.x), "r"(3), "r"(4));
  y[threadIdx.x] = lo; z[threadIdx.x] = hi;
}
// kernel halves grid 1 block 32
// in a float32 = np.linspace(-3, 3, 32)
// out y float16 = a.astype(np.float16) + np.float16(0.5)
// out z uint32 = [int(np.float32(v).astype(np.float16).view(np.uint16)) | int(np.float32(1).astype(np.float16).view(np.uint16)) << 16 for v in a]
extern "C" __global__ void halves(const float *a, __half *y, unsigned *z) {
  float v = a[threadIdx.x];
  y[threadIdx.x] = __hadd(__float2half_rn(v), __float2half_rn(0.5f));
  unsigned r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(1.f), "f"(v)); z[threadIdx.x] = r;
}
// kernel preds grid 1 block 32
// out y int32 = [(1 if i > 5 and i % 2 else 0) + (2 if not (i > 5) else 0) for i in range(32)]
extern "C" __global__ void preds(int *y) {
  int r, t = threadIdx.x;
  asm("{ .reg .pred p, q, o; setp.ne.s32 o, %2, 0; setp.gt.and.s32 p|q, %1, 5, o; selp.s32 %0, 1, 0, p; setp.le.s32 q, %1, 5; @q add.s32 %0, %0, 2; }" : "=r"(r) : "r"(t), "r"(t & 1));
  y[t] = r;
}
// kernel vec grid 1 block 32
// in x float32 = np.arange(128.)
// out y float32 = np.arange(128.).reshape(32, 4)[:, ::-1].ravel()
extern "C" __global__ void vec(const float *x, float *y) {
  float a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * threadIdx.x));
  asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(y + 4 * threadIdx.x), "f"(d), "f"(c), "f"(b), "f"(a) : "memory");
}
// kernel sats grid 1 block 32
// out y int32 = [max(-128, min(127, i * 20 - 300)) for i in range(32)]
// out z float32 = [min(1, max(0, np.float32(i) / 16 - np.float32(0.5))) for i in range(32)]
extern "C" __global__ void sats(int *y, float *z) {
  int r; asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r) : "r"((int)threadIdx.x * 20 - 300)); y[threadIdx.x] = (signed char)r;
  z[threadIdx.x] = __saturatef(threadIdx.x / 16.f - 0.5f);
}
// kernel simd grid 1 block 32
// out y uint32 = [sum((min(255, (i * 5 + 40 * k) % 256 + 100)) << 8 * k for k in range(4)) for i in range(32)]
extern "C" __global__ void simd(unsigned *y) {
  unsigned a = 0; for (int k = 0; k < 4; ++k) a |= ((threadIdx.x * 5 + 40 * k) & 255) << 8 * k;
  y[threadIdx.x] = __vaddus4(a, 0x64646464);
}
// kernel half_atomics grid 4 block 32
// inout h float16 = np.zeros(2) -> [128, 256]
// inout b float32 = np.zeros(1) -> [64]
extern "C" __global__ void half_atomics(__half2 *h, float *b) {
  atomicAdd(h, __floats2half2_rn(1.f, 2.f));
  atomicAdd(b, 0.5f);
}
// kernel float_max_int grid 2 block 64
// in x float32 = np.linspace(1, 9, 128)
// inout m int32 = [0] -> [np.float32(9).view(np.int32)]
extern "C" __global__ void float_max_int(const float *x, int *m) { atomicMax(m, __float_as_int(x[blockIdx.x * 64 + threadIdx.x])); }
// kernel cas_double grid 2 block 32
// inout s float64 = [0] -> [32.0]
extern "C" __global__ void cas_double(double *s) {
  unsigned long long *a = (unsigned long long *)s, old = *a, assumed;
  do { assumed = old; old = atomicCAS(a, assumed, __double_as_longlong(0.5 + __longlong_as_double(assumed))); } while (assumed != old);
}
// kernel cas_short grid 2 block 32
// inout s uint16 = [0, 0] -> [64, 0]
extern "C" __global__ void cas_short(unsigned short *s) {
  unsigned short old = *(volatile unsigned short *)s, was;
  do { was = old; old = atomicCAS(s, was, (unsigned short)(was + 1)); } while (old != was);
}
// kernel wmma_half grid 1 block 32
// in a float16 = (np.arange(256) % 7 - 3).reshape(16, 16)
// in b float16 = (np.arange(256) % 5 - 2).reshape(16, 16)
// out c float32 = (a.astype(np.float32) @ b.astype(np.float32))
extern "C" __global__ void wmma_half(const __half *a, const __half *b, float *c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, row_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  load_matrix_sync(fa, a, 16); load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}
// kernel nano grid 1 block 64
// out y int32 = np.ones(64)
extern "C" __global__ void nano(int *y) {
  long long a = clock64(); __nanosleep(100); long long b = clock64();
  unsigned long long g; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(g));
  y[threadIdx.x] = b > a && g != 0 ? 1 : 0;
}
// kernel label_forward grid 1 block 32
// out y int32 = [i + (i % 5) for i in range(32)]
__device__ __forceinline__ int counted(int n) {
  int r;
  asm volatile("{\n.reg .pred P;\nmov.s32 %0, 0;\nL:\nsetp.ge.s32 P, %0, %1;\n@P bra D;\nadd.s32 %0, %0, 1;\nbra L;\nD:\n}" : "=&r"(r) : "r"(n));
  return r;
}
extern "C" __global__ void label_forward(int *y) { y[threadIdx.x] = counted(threadIdx.x) + counted(threadIdx.x % 5); }
// kernel label_wait grid 1 block 32
// out y int32 = [1] * 32
extern "C" __global__ void label_wait(int *y) {
  __shared__ unsigned long long b;
  unsigned a = (unsigned)__cvta_generic_to_shared(&b);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(a));
  __syncthreads();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(a) : "memory");
  asm volatile("{\n.reg .pred       P1;\nLAB_WAIT: \nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\nbra     LAB_WAIT;\nDONE: \n}"
               :: "r"(a), "r"(0) : "memory");
  y[threadIdx.x] = 1;
}
// kernel half_roots grid 1 block 32
// in x float16 = np.arange(32.)
// out y float16 = np.sqrt(x)
// out z float16 = np.sqrt(np.repeat(x, 2))
extern "C" __global__ void half_roots(const __half *x, __half *y, __half2 *z) {
  y[threadIdx.x] = hsqrt(x[threadIdx.x]);
  z[threadIdx.x] = h2sqrt(__half2half2(x[threadIdx.x]));
}
// kernel half_ops grid 1 block 32
// out y float16 = [np.floor(i * .25) + np.ceil(i * .25) + np.rint(i * .25) + min(1, max(0, i * .125 - 1)) for i in range(32)]
// out z float16 = [i * 3 + 1 + (i > 4) + max(0, i - 10) for i in range(32)]
// out w uint32 = [(0xffff if i > 4 else 0) | (0xffff0000 if i < 9 else 0) for i in range(32)]
extern "C" __global__ void half_ops(__half *y, __half *z, unsigned *w) {
  float i = threadIdx.x; __half v = __float2half(i * .25f);
  y[threadIdx.x] = hfloor(v) + hceil(v) + hrint(v) + __hadd_sat(__float2half(-1), __float2half(i * .125f));
  __half2 a = __float2half2_rn(i), r = __hfma2(a, __float2half2_rn(3), __float2half2_rn(1));
  __half2 q = __hfma2_relu(a, __float2half2_rn(1), __float2half2_rn(-10));
  z[threadIdx.x] = __low2half(__hadd2(__hadd2(r, __hgt2(a, __float2half2_rn(4))), q));
  w[threadIdx.x] = __hgt2_mask(__floats2half2_rn(i, -i), __floats2half2_rn(4, -9));
}
// kernel half_functions grid 1 block 32 tol 1e-2
// out x float32 = np.tanh(np.arange(32) * .1)
// out y float32 = np.tanh(np.arange(32) * .1)
// out z float32 = np.exp(np.arange(32) * .1)
extern "C" __global__ void half_functions(float *x, float *y, float *z) {
  float v = threadIdx.x * .1f;
  x[threadIdx.x] = __low2float(h2tanh_approx(__float2half2_rn(v)));
  y[threadIdx.x] = __bfloat162float(htanh_approx(__float2bfloat16(v)));
  z[threadIdx.x] = __half2float(hexp(__float2half(v)));
}
// kernel predicate_constants grid 1 block 32
// out y uint32 = [0xffffffff, 0, 32, 5, 6, 1, 0, 1]
extern "C" __global__ void predicate_constants(unsigned *y) {
  unsigned a, b, n, s, t, u, v, w;
  asm volatile("vote.sync.ballot.b32 %0, 1, 0xffffffff;" : "=r"(a));
  asm volatile("vote.sync.ballot.b32 %0, 0, 0xffffffff;" : "=r"(b));
  asm volatile("barrier.red.popc.u32 %0, 0, 1;" : "=r"(n));
  asm volatile("selp.u32 %0, 5, 6, 1;" : "=r"(s));
  asm volatile("selp.u32 %0, 5, 6, 0;" : "=r"(t));
  asm volatile("{.reg.pred p; setp.eq.and.u32 p, %1, %1, 1; selp.u32 %0, 1, 0, p;}" : "=r"(u) : "r"(a));
  asm volatile("{.reg.pred p; mov.pred p, 1; and.pred p, 0, p; selp.u32 %0, 1, 0, p;}" : "=r"(v));
  asm volatile("{.reg.pred p; vote.sync.all.pred p, 1, %1; selp.u32 %0, 1, 0, p;}" : "=r"(w) : "r"(a));
  if (threadIdx.x == 0) { y[0] = a; y[1] = b; y[2] = n; y[3] = s; y[4] = t; y[5] = u; y[6] = v; y[7] = w; }
}
// kernel signed_extremes grid 1 block 32
// out y float32 = [max(2, abs(i - 9)) * (-1 if i < 9 else 1) for i in range(32)]
// out z float32 = [min(2, abs(i - 9)) * (1 if i < 9 else -1) for i in range(32)]
extern "C" __global__ void signed_extremes(float *y, float *z) {
  float v = threadIdx.x - 9.f;
  asm("max.xorsign.abs.f32 %0, %1, %2;" : "=f"(y[threadIdx.x]) : "f"(2.f), "f"(v));
  asm("min.xorsign.abs.f32 %0, %1, %2;" : "=f"(z[threadIdx.x]) : "f"(-2.f), "f"(v));
}
// kernel simd_differences grid 1 block 32
// out x uint32 = [sum(abs((i + 3 * k) - 40) << 8 * k for k in range(4)) for i in range(32)]
// out y uint32 = [sum(abs((i + 3 * k) - 40) for k in range(4)) for i in range(32)]
// out z uint32 = [abs(i - 7) + abs(3 * i - 5) for i in range(32)]
extern "C" __global__ void simd_differences(unsigned *x, unsigned *y, unsigned *z) {
  unsigned i = threadIdx.x, a = i * 0x01010101u + 0x09060300u;
  x[i] = __vabsdiffu4(a, 0x28282828u);
  y[i] = __vsadu4(a, 0x28282828u);
  z[i] = __vsadu2(i | 3 * i << 16, 7 | 5 << 16);
}
// kernel dynamic_programming grid 1 block 32
// out x int32 = [max(i - 9, -4, 0) for i in range(32)]
// out y int32 = [max(min(i - 20, 5), 0) for i in range(32)]
// out z uint32 = [max(i - 9, 0) | max(min(4, i - 2), 0) << 16 for i in range(32)]
// out w uint32 = [max(i, 9) + 2 * (i >= 9) for i in range(32)]
extern "C" __global__ void dynamic_programming(int *x, int *y, unsigned *z, unsigned *w) {
  int i = threadIdx.x; bool first;
  x[i] = __vimax_s32_relu(i - 9, -4);
  y[i] = __viaddmin_s32_relu(i, -20, 5);
  z[i] = (__vimax_s16x2_relu(i - 9 & 0xffff, -5 & 0xffff) & 0xffff) | (__viaddmin_s16x2_relu(i, -2 & 0xffff, 4) & 0xffff) << 16;
  unsigned m = __vibmax_u32(i, 9, &first); w[i] = m + 2 * first;
}
// kernel asm_axes grid 2 block 8,4
// out o int32 = [i + 100 * (i % 8) + 10000 * (i // 8 % 4) + 1000000 * (i // 32) for i in range(64)]
// out v int32 = [i % 8 + 8 for i in range(64)]
// Registers whose names are those of the elements of special registers.
extern "C" __global__ void asm_axes(int *o, int *v) {
  int i = (blockIdx.x * 4 + threadIdx.y) * 8 + threadIdx.x, r;
  asm volatile("{ .reg .b32 x, y, z, w, r; mov.u32 x, %%tid.x; mov.u32 y, %%tid.y; mov.u32 z, %%ctaid.x; mov.u32 w, %%tid.w;\n"
               "mul.lo.u32 x, x, 100; mad.lo.u32 r, y, 10000, x; mad.lo.u32 r, z, 1000000, r; add.u32 r, r, w; add.u32 %0, r, %1; }" : "=r"(r) : "r"(i));
  o[i] = r;
  asm volatile("{ .reg .v4 .u32 x; mov.v4.u32 x, %%tid; .reg .b16 h; mov.u16 h, %%ntid.r; cvt.u32.u16 %0, h; add.u32 %0, %0, x.r; }" : "=r"(r));
  v[i] = r;
}
// kernel asm_floats grid 1 block 32
// out o float32 = [i * 2.5 - 0.125 + (i if i > 7.5 else 0.25) for i in range(32)]
// out d float64 = [(i * 2.5 + 1e-1) * 1.5 for i in range(32)]
// out c float32 = [-0.025, 5, 0, np.float32(2.475)]
extern "C" __global__ void asm_floats(float *o, double *d, float *c) {
  int i = threadIdx.x; float f; double e;
  asm("{ .reg .pred p; .reg .f32 e1, f40000000; mov.f32 f40000000, 2.5; fma.rn.f32 %0, %1, f40000000, -.125; setp.gt.f32 p, %1, 7.5;\n"
      "selp.f32 e1, %1, 25e-2, p; add.f32 %0, %0, e1; }" : "=f"(f) : "f"((float)i));
  o[i] = f;
  asm("{ mul.f64 %0, %1, 2.5; add.f64 %0, %0, 1.0E-1; mul.f64 %0, %0, 0f3FC00000; }" : "=d"(e) : "d"((double)i));
  d[i] = e;
  if (i == 0) asm volatile("st.global.v2.f32 [%0+4*2], {0.0, 2.375+.1}; st.global.f32 [%0], -0.025; st.global.f32 [%0+4], 0d4014000000000000;" :: "l"(c) : "memory");
}
// kernel asm_constants grid 1 block 32
// in a int32 = np.arange(65) * 3
// out o int32 = [i + 16 - 3 + 20 + -2 + 7 + 31 + 1 + 5 + 8 for i in range(32)]
// out p int32 = [3 * (i + 2) + 3 * (i + 33) for i in range(32)]
extern "C" __global__ void asm_constants(const int *a, int *o, int *p) {
  int r, i = threadIdx.x;
  asm("{ .reg .b32 x10; add.s32 x10, %1, (1<<4); add.s32 x10, x10, -(3); add.s32 x10, x10, ((2+3)*4); add.s32 x10, x10, ~1;\n"
      "add.s32 x10, x10, 5>3 ? 7 : 8; add.s32 x10, x10, WARP_SZ-1; add.s32 x10, x10, 7 %% 3 == 1 && !0; add.s32 x10, x10, 0x5U; add.s32 %0, x10, 010; }"
      : "=r"(r) : "r"(i));
  o[i] = r;
  asm("{ .reg .b32 u; ld.global.s32 u, [%1+4*2]; ld.global.s32 %0, [%1+(WARP_SZ+1)*4]; add.s32 %0, %0, u; }" : "=r"(r) : "l"(a + i));
  p[i] = r;
}
// kernel asm_arrays grid 1 block 32
// out o int32 = [(i ^ 1) * 3 + 7 + 30 + 4 + 2 + 12 for i in range(32)]
// out f float32 = [2.5 + 0.25 for i in range(32)]
// Arrays in inline assembly, their sizes, initial values and elements.
extern "C" __global__ void asm_arrays(int *o, float *f) {
  int r, i = threadIdx.x; float e;
  asm volatile("{ .shared .align 8 .b32 s[WARP_SZ]; .shared .b32 two[4]; .const .u32 c[2][2] = {{1+6}, {3*10, (1<<2)}}; .const .f32 h[] = {1.5, 2.5, 0.25}; .global .s32 g = ~-3;\n"
               ".reg .b32 at, v; .reg .f32 w; mov.u32 at, s; mad.lo.u32 at, %2, 4, at; mul.lo.u32 v, %2, 3; st.shared.u32 [at], v; bar.warp.sync 0xffffffff;\n"
               "xor.b32 at, at, 1<<2; ld.shared.u32 %0, [at]; ld.const.u32 v, [c]; add.u32 %0, %0, v; ld.const.u32 v, c[2]; add.u32 %0, %0, v;\n"
               "ld.const.u32 v, [c+3*4]; add.u32 %0, %0, v; ld.global.s32 v, [g]; add.u32 %0, %0, v; mov.u32 v, two[3]; mov.u32 at, two; sub.u32 v, v, at; add.u32 %0, %0, v;\n"
               "ld.const.f32 %1, h[1]; ld.const.f32 w, [h+8]; add.f32 %1, %1, w; }" : "=r"(r), "=f"(e) : "r"(i) : "memory");
  o[i] = r; f[i] = e;
}
// kernel asm_vectors grid 1 block 32
// in a int32 = np.arange(128) * 5
// out o int32 = [5 * (8 * i + 1) for i in range(16)] + [5 * (4 * i + 2) for i in range(16)]
// out q int32 = [[a for a in (5 * (4 * i + 3), 5 * (4 * i + 2), 5 * (4 * i + 1), 5 * 4 * i)][k] for i in range(32) for k in range(4)]
// out w uint64 = [(5 * (4 * i + 1)) << 32 | 5 * 4 * i for i in range(32)]
extern "C" __global__ void asm_vectors(const int *a, int *o, int *q, unsigned long long *w) {
  int r, i = threadIdx.x; unsigned long long l;
  asm volatile("{ .reg .v2 .u32 q; ld.global.v2.u32 q, [%1]; add.u32 %0, q.x, q.y; }" : "=r"(r) : "l"(a + 4 * (i % 16)));
  if (i >= 16) asm volatile("{ .reg .v4 .b32 q<2>; ld.global.v4.b32 q1, [%1]; mov.b32 %0, q1.b; }" : "=r"(r) : "l"(a + 4 * (i - 16)));
  o[i] = r;
  asm volatile("{ .reg .v4 .s32 q, s; ld.global.v4.s32 q, [%0]; mov.v4.s32 s, {q.w, q.b, q.y, q.r}; st.global.v4.s32 [%1], s; }" :: "l"(a + 4 * i), "l"(q + 4 * i) : "memory");
  asm volatile("{ .reg .v2 .b32 q, s; .reg .b64 x; ld.global.v2.b32 q, [%1]; mov.b64 x, q; mov.b64 s, x; mov.b64 %0, {s.x, s.y}; }" : "=l"(l) : "l"(a + 4 * i));
  w[i] = l;
}
// kernel asm_wide grid 1 block 32
// in a uint64 = np.arange(64) * 1234567890123
// out o uint64 = [1234567890123 * (i ^ 1) for i in range(64)]
extern "C" __global__ void asm_wide(const unsigned long long *a, unsigned long long *o) {
  asm volatile("{ .reg .b128 q, s; .reg .b64 x, y; ld.global.b128 q, [%0]; mov.b128 {x, y}, q; mov.b128 s, {y, x}; st.global.b128 [%1], s; }"
               :: "l"(a + 2 * threadIdx.x), "l"(o + 2 * threadIdx.x) : "memory");
}
// kernel asm_predicates grid 1 block 32
// out o int32 = [(i != 3) + 2 * (i != 3) + 4 * (i == 3 or i == 5) + 8 * (i == 7) + 16 * (i in (3, 6)) + 32 * ((i ^ 5) == 0 or i == 3) for i in range(32)]
extern "C" __global__ void asm_predicates(int *o) {
  int r, i = threadIdx.x;
  asm volatile("{ .reg .pred p, q, t; .reg .b32 _a, $b, %%c; setp.eq.s32 p | q, %1, 3; selp.u32 %0, 1, 0, !p; selp.u32 _a, 2, 0, q; add.u32 %0, %0, _a;\n"
               "setp.ne.s32 _|t, %1, 5; or.pred t, p, t; selp.u32 $b, 4, 0, t; add.u32 %0, %0, $b; setp.eq.and.s32 t|_, %1, 7, ! p; selp.u32 %%c, 8, 0, t; add.u32 %0, %0, %%c;\n"
               "mov.pred t, !p; { .reg .pred t; setp.eq.s32 t, %1, 6; @t add.u32 %0, %0, 16; } @!t add.u32 %0, %0, 16; // } a comment ;\n"
               "lop3.or.b32 _|t, %1, 5, 0, 0x3c, q; lop3.or.b32 _|t, %1, 5, 0, 0x3c, 0; /* { */ .pragma \"nounroll\";\n"
               "and.pred t, t, !p; @! t add.u32 %0, %0, 32; }" : "=&r"(r) : "r"(i));
  o[i] = r;
}
// kernel asm_blocks grid 1 block 32
// in a int32 = np.arange(32) + 1
// out o int32 = [3 * min(int(v), 5) + 2 for v in a]
// Labels, and instructions without effect on results.
extern "C" __global__ void asm_blocks(const int *a, int *o) {
  int r;
  asm volatile("{ .reg .pred p; .reg .b32 n, v; .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0; ld.global.L2::cache_hint.s32 n, [%1], policy;\n"
               "min.s32 n, n, 5; mov.s32 %0, 0; first: again: add.s32 %0, %0, 3; sub.s32 n, n, 1; setp.gt.s32 p, n, 0; @p bra again; bra.uni last; mov.s32 %0, 99; last:\n"
               "mov.b32 v, 2; add.s32 %0, %0, v; prefetch.global.L2 [%1]; prefetchu.L1 [%1]; { } }" : "=&r"(r) : "l"(a + threadIdx.x));
  o[threadIdx.x] = r;
  asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait; nanosleep.u32 10*2; cp.async.bulk.prefetch.L2.global [%0], 128;" :: "l"(a) : "memory");
}

// bar.sync 0 at several places: PTX asks the lanes of a warp to execute one of them, not the block's warps.
// kernel bar_in_both_branches grid 2 block 64
// in x int32 = np.arange(64)
// out y int32 = np.tile(np.arange(64)[::-1] + 1, 2)
extern "C" __global__ void bar_in_both_branches(const int *x, int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  int v;
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 0;" ::: "memory");
    v = s[63 - threadIdx.x];
  } else {
    asm volatile("bar.sync 0;" ::: "memory");
    v = s[63 - threadIdx.x] * 1;
  }
  y[blockIdx.x * 64 + threadIdx.x] = v + 1;
}

// kernel bar_by_role grid 1 block 128
// out y int32 = np.arange(128) * 3
extern "C" __global__ void bar_by_role(int *y) {
  __shared__ int s[128];
  int warp = threadIdx.x / 32;
  for (int round = 0; round < 3; ++round) {
    switch (warp) {
      case 0:
        for (int k = threadIdx.x; k < 128; k += 32) s[k] = k * (round + 1);
        asm volatile("barrier.sync.aligned 0;" ::: "memory");
        break;
      case 1: asm volatile("bar.sync 0;" ::: "memory"); break;
      default: asm volatile("bar.cta.sync 0;" ::: "memory");
    }
    y[threadIdx.x] = s[threadIdx.x];
    asm volatile("bar.sync 0;" ::: "memory");
  }
}

// kernel bar_red_by_role grid 1 block 64
// out y int32 = np.full(64, 48)
extern "C" __global__ void bar_red_by_role(int *y) {
  int count, mine = threadIdx.x % 4 != 0;
  if (threadIdx.x < 32)
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(count) : "r"(mine));
  else
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(count) : "r"(mine));
  y[threadIdx.x] = count;
}

__device__ __forceinline__ void block_barrier() { asm volatile("bar.sync 0;" ::: "memory"); }
// kernel bar_in_a_function grid 1 block 96
// out y int32 = np.arange(96)[::-1]
extern "C" __global__ void bar_in_a_function(int *y) {
  __shared__ int s[96];
  if (threadIdx.x / 32 == 1) {
    s[threadIdx.x] = threadIdx.x;
    block_barrier();
  } else {
    int v = threadIdx.x;
    s[v] = v;
    block_barrier();
  }
  y[threadIdx.x] = s[95 - threadIdx.x];
}
