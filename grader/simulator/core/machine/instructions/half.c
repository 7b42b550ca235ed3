/* PTX ISA, "Half Precision Floating-Point Instructions": f16, f16x2, bf16, bf16x2. The exact
 * result of one operation on halves is rounded once, from double. `flag` has the modifiers. */
#include "machine/instructions/float.h"

enum { FTZ = 1, SAT = 2 };

/* .ftz: a subnormal half counts as zero. */
static inline u16 half_flushed(u16 h, int brain, u32 flag) {
  return flag & FTZ && !(h & (brain ? 0x7F80 : 0x7C00)) ? h & 0x8000 : h;
}
static inline u16 half_result(f64 r, int brain, u32 flag) {
  /* Flushed is what rounds to below the smallest normal one with an exponent of any size. */
  f64 normal = brain ? 0x1.ffp-127 : 0x1.ffep-15;
  if (flag & SAT) r = r > 0 ? (r < 1 ? r : 1.0) : 0.0;
  if (flag & FTZ && fabs(r) < normal) r = copysign(0.0, r);
  return f64_to_half(r, brain, FE_TONEAREST);
}

#define HALF2(NAME, EXPR)                                                                  \
  OP2(NAME##_f16, u16, u16, u16, half_pair_op(a, b, 0, EXPR, i->flag))                     \
  OP2(NAME##_bf16, u16, u16, u16, half_pair_op(a, b, 1, EXPR, i->flag))                    \
  OP2(NAME##_f16x2, u32, u32, u32, both(half_pair_op, a, b, 0, EXPR, i->flag))             \
  OP2(NAME##_bf16x2, u32, u32, u32, both(half_pair_op, a, b, 1, EXPR, i->flag))

enum HalfOp { H_ADD, H_SUB, H_MUL, H_MIN, H_MAX, H_MIN_NAN, H_MAX_NAN, H_XORSIGN = 16 };
static inline u16 half_chosen(u16 a, u16 b, int brain, enum HalfOp op) {
  f64 x = half_to_f64(a, brain), y = half_to_f64(b, brain);
  bool nan = op == H_MIN || op == H_MAX ? x != x && y != y : x != x || y != y;
  f64 r = op == H_MIN || op == H_MIN_NAN ? min_d(x, y) : max_d(x, y);
  return nan ? HALF_NAN : bits64(r) == bits64(x) ? a : b;
}
static inline u16 half_pair_op(u16 a, u16 b, int brain, enum HalfOp op, u32 flag) {
  a = half_flushed(a, brain, flag);
  b = half_flushed(b, brain, flag);
  if (op & H_XORSIGN) {
    u16 r = half_chosen(a & 0x7FFF, b & 0x7FFF, brain, op & ~(u32)H_XORSIGN);
    return r == HALF_NAN ? r : r | ((a ^ b) & 0x8000);
  }
  f64 x = half_to_f64(a, brain), y = half_to_f64(b, brain);
  switch (op) {
    case H_ADD: return half_result(x + y, brain, flag);
    case H_SUB: return half_result(x - y, brain, flag);
    case H_MUL: return half_result(x * y, brain, flag);
    default: return half_chosen(a, b, brain, op);
  }
}
static inline u32 both(u16 (*f)(u16, u16, int, enum HalfOp, u32), u32 a, u32 b, int brain, enum HalfOp op, u32 flag) {
  return (u32)f((u16)(a >> 16), (u16)(b >> 16), brain, op, flag) << 16 | f((u16)a, (u16)b, brain, op, flag);
}
HALF2(add, H_ADD)
HALF2(sub, H_SUB)
HALF2(mul, H_MUL)
HALF2(min, H_MIN)
HALF2(max, H_MAX)
HALF2(min_NaN, H_MIN_NAN)
HALF2(max_NaN, H_MAX_NAN)
HALF2(min_xorsign_abs, H_MIN | H_XORSIGN)
HALF2(max_xorsign_abs, H_MAX | H_XORSIGN)
HALF2(min_NaN_xorsign_abs, H_MIN_NAN | H_XORSIGN)
HALF2(max_NaN_xorsign_abs, H_MAX_NAN | H_XORSIGN)

static inline u16 half_fma(u16 a, u16 b, u16 c, int brain, int relu, u32 flag) {
  f64 x = half_to_f64(half_flushed(a, brain, flag), brain) * half_to_f64(half_flushed(b, brain, flag), brain);
  f64 y = half_to_f64(half_flushed(c, brain, flag), brain), s = x + y;
  /* Round to odd: the sum of an exact product and a half may not fit a double. */
  f64 t = s - x, lost = (x - (s - t)) + (y - t);
  if (isfinite(s) && lost != 0 && !(bits64(s) & 1)) s = f64_of(bits64(s) + ((lost > 0) == (s > 0) ? 1 : -1));
  u16 r = half_result(s, brain, flag);
  if (relu && s == s && r >> 15) r = 0;
  return r;
}
#define PAIR3(f, a, b, c, brain, relu, flag)                                        \
  ((u32)f((u16)(a >> 16), (u16)(b >> 16), (u16)(c >> 16), brain, relu, flag) << 16 | \
   f((u16)a, (u16)b, (u16)c, brain, relu, flag))
#define HALF3(NAME, RELU)                                                              \
  OP3(NAME##_f16, u16, u16, u16, u16, half_fma(a, b, c, 0, RELU, i->flag))             \
  OP3(NAME##_bf16, u16, u16, u16, u16, half_fma(a, b, c, 1, RELU, i->flag))            \
  OP3(NAME##_f16x2, u32, u32, u32, u32, PAIR3(half_fma, a, b, c, 0, RELU, i->flag))    \
  OP3(NAME##_bf16x2, u32, u32, u32, u32, PAIR3(half_fma, a, b, c, 1, RELU, i->flag))
HALF3(fma, 0)
HALF3(fma_relu, 1)

#define HALF1(NAME, F)                                                                                    \
  static inline u16 half_##NAME(u16 a, int brain, u32 flag) {                                             \
    return half_result(F(half_to_f64(half_flushed(a, brain, flag), brain)), brain, flag);                 \
  }                                                                                                       \
  OP1(NAME##_f16, u16, u16, half_##NAME(a, 0, i->flag))                                                   \
  OP1(NAME##_bf16, u16, u16, half_##NAME(a, 1, i->flag))                                                  \
  OP1(NAME##_f16x2, u32, u32, (u32)half_##NAME((u16)(a >> 16), 0, i->flag) << 16 | half_##NAME((u16)a, 0, i->flag)) \
  OP1(NAME##_bf16x2, u32, u32, (u32)half_##NAME((u16)(a >> 16), 1, i->flag) << 16 | half_##NAME((u16)a, 1, i->flag))
HALF1(ex2_approx, exp2)
HALF1(tanh_approx, tanh)

static inline u32 pair_flushed(u32 a, u32 flag) {
  return (u32)half_flushed((u16)(a >> 16), 0, flag) << 16 | half_flushed((u16)a, 0, flag);
}
OP1(neg_f16, u16, u16, half_flushed(a, 0, i->flag) ^ 0x8000)
OP1(neg_bf16, u16, u16, a ^ 0x8000)
OP1(neg_f16x2, u32, u32, pair_flushed(a, i->flag) ^ 0x80008000)
OP1(neg_bf16x2, u32, u32, a ^ 0x80008000)
OP1(abs_f16, u16, u16, half_flushed(a, 0, i->flag) & 0x7FFF)
OP1(abs_bf16, u16, u16, a & 0x7FFF)
OP1(abs_f16x2, u32, u32, pair_flushed(a, i->flag) & 0x7FFF7FFF)
OP1(abs_bf16x2, u32, u32, a & 0x7FFF7FFF)

enum Relation { O_EQ, O_NE, O_LT, O_LE, O_GT, O_GE, O_EQU, O_NEU, O_LTU, O_LEU, O_GTU, O_GEU, O_NUM, O_NAN };
static inline bool ordered(f64 x, f64 y, u32 op) {
  bool nan = x != x || y != y;
  switch (op) {
    case O_EQ: return x == y;
    case O_NE: return x < y || x > y;
    case O_LT: return x < y;
    case O_LE: return x <= y;
    case O_GT: return x > y;
    case O_GE: return x >= y;
    case O_EQU: return nan || x == y;
    case O_NEU: return nan || x != y;
    case O_LTU: return nan || x < y;
    case O_LEU: return nan || x <= y;
    case O_GTU: return nan || x > y;
    case O_GEU: return nan || x >= y;
    case O_NUM: return !nan;
    default: return nan;
  }
}
/* setp and set on halves: `width` is the comparison, and whether it flushes. */
enum { COMPARISON = 15, FLUSHES = 16 };
static u32 compared(const Insn *i, u32 a, u32 b, int brain) {
  u32 flag = i->width & FLUSHES ? FTZ : 0;
  f64 x = half_to_f64(half_flushed((u16)a, brain, flag), brain);
  return ordered(x, half_to_f64(half_flushed((u16)b, brain, flag), brain), i->width & COMPARISON);
}
static void compare_halves(Warp *w, const Insn *i, int brain) {
  const u16 *a = SRC(u16, i->a), *b = SRC(u16, i->b);
  u32 r = 0;
  for (int l = 0; l < LANES; l++) r |= compared(i, a[l], b[l], brain) << l;
  set_predicate(w, i, r);
}
void ptx_setp_f16(Warp *w, const Insn *i) { compare_halves(w, i, 0); }
void ptx_setp_bf16(Warp *w, const Insn *i) { compare_halves(w, i, 1); }

/* Of pairs: setp gives p for the low halves, q for the high ones; set the 16 bits of `count` each. */
static void compare_pairs(Warp *w, const Insn *i, int brain, u32 *lo, u32 *hi) {
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b);
  *lo = *hi = 0;
  for (int l = 0; l < LANES; l++) {
    *lo |= compared(i, a[l], b[l], brain) << l;
    *hi |= compared(i, a[l] >> 16, b[l] >> 16, brain) << l;
  }
  u32 c = i->mode ? *SRC(u32, i->c) ^ (i->imm ? FULL : 0) : 0;
  *lo = with_boolean(*lo, c, i->mode);
  *hi = with_boolean(*hi, c, i->mode);
}
static void setp_pairs(Warp *w, const Insn *i, int brain) {
  u32 lo, hi, m = w->mask, *d = DST(u32, i->d), *e = DST(u32, i->e);
  compare_pairs(w, i, brain, &lo, &hi);
  *d = (*d & ~m) | (lo & m);
  if (i->flag) *e = (*e & ~m) | (hi & m);
}
static void set_pairs(Warp *w, const Insn *i, int brain) {
  u32 lo, hi, one = i->count, *d = DST(u32, i->d);
  compare_pairs(w, i, brain, &lo, &hi);
  EACH_LANE {
    u32 r = (lo >> l & 1 ? one : 0) | (hi >> l & 1 ? one << 16 : 0);
    d[l] = w->lane[l] ? r : d[l];
  }
}
void ptx_setp_f16x2(Warp *w, const Insn *i) { setp_pairs(w, i, 0); }
void ptx_setp_bf16x2(Warp *w, const Insn *i) { setp_pairs(w, i, 1); }
void ptx_set_f16x2(Warp *w, const Insn *i) { set_pairs(w, i, 0); }
void ptx_set_bf16x2(Warp *w, const Insn *i) { set_pairs(w, i, 1); }
