/* PTX ISA, "Floating-Point Instructions". Other roundings, .ftz and .sat: see modified(). */
#include "machine/instructions/float.h"

OP2(add_f32, f32, f32, f32, one_nan(a + b))
OP2(sub_f32, f32, f32, f32, one_nan(a - b))
OP2(mul_f32, f32, f32, f32, one_nan(a * b))
OP3(fma_f32, f32, f32, f32, f32, one_nan(__builtin_fmaf(a, b, c)))
OP2(div_f32, f32, f32, f32, one_nan(a / b))
OP1(rcp_f32, f32, f32, one_nan(1.0f / a))
OP1(sqrt_f32, f32, f32, one_nan(__builtin_sqrtf(a)))
OP1(abs_f32, u32, u32, a & 0x7FFFFFFF)
OP1(neg_f32, u32, u32, a ^ 0x80000000)
OP2(min_f32, f32, f32, f32, min_f(a, b))
OP2(max_f32, f32, f32, f32, max_f(a, b))
OP2(min_NaN_f32, f32, f32, f32, a != a || b != b ? f32_of(0x7FFFFFFF) : min_f(a, b))
OP2(max_NaN_f32, f32, f32, f32, a != a || b != b ? f32_of(0x7FFFFFFF) : max_f(a, b))
static inline f32 nan_or(f32 a, f32 b, f32 r) { return a != a || b != b ? f32_of(0x7FFFFFFF) : r; }
OP1(abs_ftz_f32, f32, f32, fabsf(flushed(a)))
OP1(neg_ftz_f32, f32, f32, -flushed(a))
OP2(min_ftz_f32, f32, f32, f32, min_f(flushed(a), flushed(b)))
OP2(max_ftz_f32, f32, f32, f32, max_f(flushed(a), flushed(b)))
OP2(min_ftz_NaN_f32, f32, f32, f32, nan_or(a, b, min_f(flushed(a), flushed(b))))
OP2(max_ftz_NaN_f32, f32, f32, f32, nan_or(a, b, max_f(flushed(a), flushed(b))))
/* .xorsign.abs: of the absolute values, with the product's sign. */
static inline f32 with_xorsign(f32 a, f32 b, f32 r) {
  return r != r ? r : f32_of(bits32(r) | ((bits32(a) ^ bits32(b)) & 0x80000000));
}
#define XORSIGN(OP)                                                                                            \
  OP2(OP##_xorsign_abs_f32, f32, f32, f32, with_xorsign(a, b, OP##_f(fabsf(a), fabsf(b))))                     \
  OP2(OP##_NaN_xorsign_abs_f32, f32, f32, f32, with_xorsign(a, b, nan_or(a, b, OP##_f(fabsf(a), fabsf(b)))))   \
  OP2(OP##_ftz_xorsign_abs_f32, f32, f32, f32, with_xorsign(a, b, OP##_f(fabsf(flushed(a)), fabsf(flushed(b))))) \
  OP2(OP##_ftz_NaN_xorsign_abs_f32, f32, f32, f32,                                                             \
      with_xorsign(a, b, nan_or(a, b, OP##_f(fabsf(flushed(a)), fabsf(flushed(b))))))
XORSIGN(min) XORSIGN(max)
OP2(copysign_f32, u32, u32, u32, (a & 0x80000000) | (b & 0x7FFFFFFF))

/* A double NaN keeps its payload; an invalid operation makes the negative quiet one. */
static inline f64 quiet_nan(f64 r, f64 a, f64 b) {
  if (r == r) return r;
  if (a != a) return f64_of(bits64(a) | 1ull << 51);
  if (b != b) return f64_of(bits64(b) | 1ull << 51);
  return f64_of(0xFFF8000000000000ull);
}
OP2(add_f64, f64, f64, f64, quiet_nan(a + b, a, b))
OP2(sub_f64, f64, f64, f64, quiet_nan(a - b, a, b))
OP2(mul_f64, f64, f64, f64, quiet_nan(a * b, a, b))
OP3(fma_f64, f64, f64, f64, f64, quiet_nan(__builtin_fma(a, b, c), a, b != b ? b : c))
OP2(div_f64, f64, f64, f64, quiet_nan(a / b, a, b))
OP1(rcp_f64, f64, f64, quiet_nan(1.0 / a, a, a))
OP1(sqrt_f64, f64, f64, quiet_nan(__builtin_sqrt(a), a, a))
OP1(abs_f64, u64, u64, a & ~(1ull << 63))
OP1(neg_f64, u64, u64, a ^ 1ull << 63)
OP2(min_f64, f64, f64, f64, min_d(a, b))
OP2(max_f64, f64, f64, f64, max_d(a, b))
OP2(copysign_f64, u64, u64, u64, (a & 1ull << 63) | (b & ~(1ull << 63)))

/* The approximations: the double result rounded once, inside the manual's error bounds. */
OP1(rcp_approx_f32, f32, f32, one_nan((f32)(1.0 / (f64)a)))
OP1(sqrt_approx_f32, f32, f32, one_nan((f32)sqrt((f64)a)))
OP1(rsqrt_approx_f32, f32, f32, one_nan((f32)(1.0 / sqrt((f64)a))))
OP1(ex2_approx_f32, f32, f32, one_nan((f32)exp2((f64)a)))
OP1(lg2_approx_f32, f32, f32, one_nan((f32)log2((f64)a)))
OP1(sin_approx_f32, f32, f32, one_nan((f32)sin((f64)a)))
OP1(cos_approx_f32, f32, f32, one_nan((f32)cos((f64)a)))
OP1(tanh_approx_f32, f32, f32, one_nan((f32)tanh((f64)a)))
/* div.approx is a times the reciprocal: past 2^126 the reciprocal is a flushed zero. */
OP2(div_approx_f32, f32, f32, f32,
    one_nan(fabsf(b) > 0x1p126f ? (isinf(a) ? f32_of(0x7FFFFFFF) : copysignf(0.0f, a) * copysignf(1.0f, b))
                                : (f32)((f64)a / (f64)b)))
OP2(div_full_f32, f32, f32, f32, one_nan((f32)((f64)a / (f64)b)))
OP1(rsqrt_approx_f64, f64, f64, quiet_nan(1.0 / sqrt(a), a, a))
/* The .ftz approximations of doubles read only the high word. */
OP1(rcp_approx_ftz_f64, f64, f64, f64_of(bits64(1.0 / f64_of(bits64(a) & 0xFFFFFFFF00000000ull)) & 0xFFFFFFFF00000000ull))
OP1(rsqrt_approx_ftz_f64, f64, f64, f64_of(bits64(1.0 / sqrt(f64_of(bits64(a) & 0xFFFFFFFF00000000ull))) & 0xFFFFFFFF00000000ull))

static void classify(Warp *w, const Insn *i, const u32 bit[LANES]) {
  u32 r = 0, *d = DST(u32, i->d);
  for (int l = 0; l < LANES; l++) r |= bit[l] << l;
  *d = (*d & ~w->mask) | (r & w->mask);
}
#define TESTP(NAME, T, EXPR)                               \
  void ptx_##NAME(Warp *w, const Insn *i) {                      \
    const T *pa = SRC(T, i->a);                            \
    u32 bit[LANES];                                        \
    EACH_LANE { T a = pa[l]; bit[l] = (EXPR) ? 1u : 0u; } \
    classify(w, i, bit);                                   \
  }
TESTP(testp_finite_f32, f32, isfinite(a))
TESTP(testp_infinite_f32, f32, isinf(a))
TESTP(testp_number_f32, f32, a == a)
TESTP(testp_notanumber_f32, f32, a != a)
TESTP(testp_normal_f32, f32, isnormal(a) || a == 0) /* the hardware counts zeros too */
TESTP(testp_subnormal_f32, f32, fpclassify(a) == FP_SUBNORMAL)
TESTP(testp_finite_f64, f64, isfinite(a))
TESTP(testp_infinite_f64, f64, isinf(a))
TESTP(testp_number_f64, f64, a == a)
TESTP(testp_notanumber_f64, f64, a != a)
TESTP(testp_normal_f64, f64, isnormal(a) || a == 0)
TESTP(testp_subnormal_f64, f64, fpclassify(a) == FP_SUBNORMAL)

/* An instruction under modifiers: imm is the plain one, mode its rounding, flag .ftz and .sat. */
enum { FTZ = 1, SAT = 2 };
#if defined(__SSE2__)
#include <xmmintrin.h>
static u32 flush_on(void) { u32 old = _mm_getcsr(); _mm_setcsr(old | 0x8040); return old; }
static void flush_back(u32 old) { _mm_setcsr(old); }
#elif defined(__aarch64__)
static u64 flush_on(void) {
  u64 old;
  __asm__ volatile("mrs %0, fpcr" : "=r"(old));
  __asm__ volatile("msr fpcr, %0" ::"r"(old | 1ull << 24));
  return old;
}
static void flush_back(u64 old) { __asm__ volatile("msr fpcr, %0" ::"r"(old)); }
#else
#error "no flush-to-zero control known for this processor"
#endif

void ptx_modified(Warp *w, const Insn *i) {
  static const int rounding[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  Exec *plain = (Exec *)(intptr_t)i->imm;
  fesetround(rounding[i->mode & 3]);
  if (i->flag & FTZ) {
    u64 old = flush_on();
    plain(w, i);
    flush_back((u32)old);
  } else {
    plain(w, i);
  }
  fesetround(FE_TONEAREST);
  if (!(i->flag & SAT)) return;
  if (i->width == 4) {
    f32 *d = DST(f32, i->d);
    EACH_LANE { f32 r = d[l] > 0 ? (d[l] < 1 ? d[l] : 1.0f) : 0.0f; d[l] = w->lane[l] ? r : d[l]; }
  } else {
    f64 *d = DST(f64, i->d);
    EACH_LANE { f64 r = d[l] > 0 ? (d[l] < 1 ? d[l] : 1.0) : 0.0; d[l] = w->lane[l] ? r : d[l]; }
  }
}
