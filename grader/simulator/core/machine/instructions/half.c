/* PTX ISA, "Half Precision Floating-Point Instructions": f16, f16x2, bf16, bf16x2. The exact
 * result of one operation on halves is rounded once, from double. */
#include "machine/instructions/float.h"

#define HALF2(NAME, EXPR)                                                                  \
  OP2(NAME##_f16, u16, u16, u16, half_pair_op(a, b, 0, EXPR))                              \
  OP2(NAME##_bf16, u16, u16, u16, half_pair_op(a, b, 1, EXPR))                             \
  OP2(NAME##_f16x2, u32, u32, u32, both(half_pair_op, a, b, 0, EXPR))                      \
  OP2(NAME##_bf16x2, u32, u32, u32, both(half_pair_op, a, b, 1, EXPR))

enum HalfOp { H_ADD, H_SUB, H_MUL, H_MIN, H_MAX, H_MIN_NAN, H_MAX_NAN };
static inline u16 half_pair_op(u16 a, u16 b, int brain, enum HalfOp op) {
  f64 x = half_to_f64(a, brain), y = half_to_f64(b, brain), r;
  switch (op) {
    case H_ADD: r = x + y; break;
    case H_SUB: r = x - y; break;
    case H_MUL: r = x * y; break;
    case H_MIN: return x != x && y != y ? HALF_NAN : bits64(min_d(x, y)) == bits64(x) ? a : b;
    case H_MAX: return x != x && y != y ? HALF_NAN : bits64(max_d(x, y)) == bits64(x) ? a : b;
    case H_MIN_NAN: return x != x || y != y ? HALF_NAN : bits64(min_d(x, y)) == bits64(x) ? a : b;
    default: return x != x || y != y ? HALF_NAN : bits64(max_d(x, y)) == bits64(x) ? a : b;
  }
  return f64_to_half(r, brain, FE_TONEAREST);
}
static inline u32 both(u16 (*f)(u16, u16, int, enum HalfOp), u32 a, u32 b, int brain, enum HalfOp op) {
  return (u32)f((u16)(a >> 16), (u16)(b >> 16), brain, op) << 16 | f((u16)a, (u16)b, brain, op);
}
HALF2(add, H_ADD)
HALF2(sub, H_SUB)
HALF2(mul, H_MUL)
HALF2(min, H_MIN)
HALF2(max, H_MAX)
HALF2(min_NaN, H_MIN_NAN)
HALF2(max_NaN, H_MAX_NAN)

static inline u16 half_fma(u16 a, u16 b, u16 c, int brain, int relu) {
  f64 x = half_to_f64(a, brain) * half_to_f64(b, brain), y = half_to_f64(c, brain), s = x + y;
  /* Round to odd: the sum of an exact product and a half may not fit a double. */
  f64 t = s - x, lost = (x - (s - t)) + (y - t);
  if (isfinite(s) && lost != 0 && !(bits64(s) & 1)) s = f64_of(bits64(s) + ((lost > 0) == (s > 0) ? 1 : -1));
  u16 r = f64_to_half(s, brain, FE_TONEAREST);
  if (relu && s == s && r >> 15) r = 0;
  return r;
}
OP3(fma_f16, u16, u16, u16, u16, half_fma(a, b, c, 0, 0))
OP3(fma_bf16, u16, u16, u16, u16, half_fma(a, b, c, 1, 0))
OP3(fma_relu_f16, u16, u16, u16, u16, half_fma(a, b, c, 0, 1))
OP3(fma_relu_bf16, u16, u16, u16, u16, half_fma(a, b, c, 1, 1))
#define PAIR3(f, a, b, c, brain, relu)                                        \
  ((u32)f((u16)(a >> 16), (u16)(b >> 16), (u16)(c >> 16), brain, relu) << 16 | \
   f((u16)a, (u16)b, (u16)c, brain, relu))
OP3(fma_f16x2, u32, u32, u32, u32, PAIR3(half_fma, a, b, c, 0, 0))
OP3(fma_bf16x2, u32, u32, u32, u32, PAIR3(half_fma, a, b, c, 1, 0))
OP3(fma_relu_f16x2, u32, u32, u32, u32, PAIR3(half_fma, a, b, c, 0, 1))
OP3(fma_relu_bf16x2, u32, u32, u32, u32, PAIR3(half_fma, a, b, c, 1, 1))

OP1(neg_f16, u16, u16, a ^ 0x8000)
OP1(neg_bf16, u16, u16, a ^ 0x8000)
OP1(neg_f16x2, u32, u32, a ^ 0x80008000)
OP1(neg_bf16x2, u32, u32, a ^ 0x80008000)
OP1(abs_f16, u16, u16, a & 0x7FFF)
OP1(abs_bf16, u16, u16, a & 0x7FFF)
OP1(abs_f16x2, u32, u32, a & 0x7FFF7FFF)
OP1(abs_bf16x2, u32, u32, a & 0x7FFF7FFF)
OP1(ex2_approx_f16, u16, u16, f64_to_half(exp2(half_to_f64(a, 0)), 0, FE_TONEAREST))
OP1(tanh_approx_f16, u16, u16, f64_to_half(tanh(half_to_f64(a, 0)), 0, FE_TONEAREST))

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
/* setp on halves: `width` is the comparison; packed ones give p for the low, q for the high. */
static void compare_halves(Warp *w, const Insn *i, int brain) {
  const u16 *a = SRC(u16, i->a), *b = SRC(u16, i->b);
  u32 r = 0;
  for (int l = 0; l < LANES; l++)
    r |= (u32)ordered(half_to_f64(a[l], brain), half_to_f64(b[l], brain), i->width) << l;
  set_predicate(w, i, r);
}
void ptx_setp_f16(Warp *w, const Insn *i) { compare_halves(w, i, 0); }
void ptx_setp_bf16(Warp *w, const Insn *i) { compare_halves(w, i, 1); }
static void compare_pairs(Warp *w, const Insn *i, int brain) {
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b);
  u32 lo = 0, hi = 0, m = w->mask, *d = DST(u32, i->d), *e = DST(u32, i->e);
  for (int l = 0; l < LANES; l++) {
    lo |= (u32)ordered(half_to_f64((u16)a[l], brain), half_to_f64((u16)b[l], brain), i->width) << l;
    hi |= (u32)ordered(half_to_f64((u16)(a[l] >> 16), brain), half_to_f64((u16)(b[l] >> 16), brain), i->width) << l;
  }
  *d = (*d & ~m) | (lo & m);
  *e = (*e & ~m) | (hi & m);
}
void ptx_setp_f16x2(Warp *w, const Insn *i) { compare_pairs(w, i, 0); }
void ptx_setp_bf16x2(Warp *w, const Insn *i) { compare_pairs(w, i, 1); }
