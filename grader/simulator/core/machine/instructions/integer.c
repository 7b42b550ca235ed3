/* PTX ISA, "Integer Arithmetic Instructions". Where the sign makes no difference, the type is u. */
#include "machine/instructions/operation.h"

OP2(add_u16, u16, u16, u16, a + b)
OP2(add_u32, u32, u32, u32, a + b)
OP2(add_u64, u64, u64, u64, a + b)
OP2(sub_u16, u16, u16, u16, a - b)
OP2(sub_u32, u32, u32, u32, a - b)
OP2(sub_u64, u64, u64, u64, a - b)

static inline s32 clamp_s32(s64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (s32)x; }
OP2(add_sat_s32, s32, s32, s32, clamp_s32((s64)a + b))
OP2(sub_sat_s32, s32, s32, s32, clamp_s32((s64)a - b))

OP2(mul_lo_u16, u16, u16, u16, (u32)a * b)
OP2(mul_lo_u32, u32, u32, u32, a * b)
OP2(mul_lo_u64, u64, u64, u64, a * b)
OP2(mul_hi_u16, u16, u16, u16, (u32)a * b >> 16)
OP2(mul_hi_s16, s16, s16, s16, (s32)a * b >> 16)
OP2(mul_hi_u32, u32, u32, u32, (u64)a * b >> 32)
OP2(mul_hi_s32, s32, s32, s32, (s64)a * b >> 32)
OP2(mul_hi_u64, u64, u64, u64, (u64)((unsigned __int128)a * b >> 64))
OP2(mul_hi_s64, s64, s64, s64, (s64)((__int128)a * b >> 64))
OP2(mul_wide_u16, u32, u16, u16, (u32)a * b)
OP2(mul_wide_s16, s32, s16, s16, (s32)a * b)
OP2(mul_wide_u32, u64, u32, u32, (u64)a * b)
OP2(mul_wide_s32, s64, s32, s32, (s64)a * b)

OP3(mad_lo_u16, u16, u16, u16, u16, (u32)a * b + c)
OP3(mad_lo_u32, u32, u32, u32, u32, a * b + c)
OP3(mad_lo_u64, u64, u64, u64, u64, a * b + c)
OP3(mad_hi_u16, u16, u16, u16, u16, ((u32)a * b >> 16) + c)
OP3(mad_hi_s16, u16, s16, s16, u16, (u32)((s32)a * b >> 16) + c)
OP3(mad_hi_u32, u32, u32, u32, u32, (u32)((u64)a * b >> 32) + c)
OP3(mad_hi_s32, u32, s32, s32, u32, (u32)((s64)a * b >> 32) + c)
OP3(mad_hi_sat_s32, s32, s32, s32, s32, clamp_s32(((s64)a * b >> 32) + c))
OP3(mad_hi_u64, u64, u64, u64, u64, (u64)((unsigned __int128)a * b >> 64) + c)
OP3(mad_hi_s64, u64, s64, s64, u64, (u64)((__int128)a * b >> 64) + c)
OP3(mad_wide_u16, u32, u16, u16, u32, (u32)a * b + c)
OP3(mad_wide_s16, u32, s16, s16, u32, (u32)((s32)a * b) + c)
OP3(mad_wide_u32, u64, u32, u32, u64, (u64)a * b + c)
OP3(mad_wide_s32, u64, s32, s32, u64, (u64)((s64)a * b) + c)

/* mul24, mad24: the low 24 bits of the operands; .lo is bits 31..0, .hi bits 47..16. */
static inline s32 low24(s32 x) { return (s32)((u32)x << 8) >> 8; }
OP2(mul24_lo_u32, u32, u32, u32, (a & 0xFFFFFF) * (b & 0xFFFFFF))
OP2(mul24_lo_s32, u32, s32, s32, (u32)((s64)low24(a) * low24(b)))
OP2(mul24_hi_u32, u32, u32, u32, (u64)(a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16)
OP2(mul24_hi_s32, u32, s32, s32, (u32)((s64)low24(a) * low24(b) >> 16))
OP3(mad24_lo_u32, u32, u32, u32, u32, (a & 0xFFFFFF) * (b & 0xFFFFFF) + c)
OP3(mad24_lo_s32, u32, s32, s32, u32, (u32)((s64)low24(a) * low24(b)) + c)
OP3(mad24_hi_u32, u32, u32, u32, u32, (u32)((u64)(a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16) + c)
OP3(mad24_hi_s32, u32, s32, s32, u32, (u32)((s64)low24(a) * low24(b) >> 16) + c)

OP3(sad_u16, u16, u16, u16, u16, (a < b ? b - a : a - b) + c)
OP3(sad_s16, u16, s16, s16, u16, (u32)(a < b ? b - a : a - b) + c)
OP3(sad_u32, u32, u32, u32, u32, (a < b ? b - a : a - b) + c)
OP3(sad_s32, u32, s32, s32, u32, (a < b ? (u32)b - (u32)a : (u32)a - (u32)b) + c)
OP3(sad_u64, u64, u64, u64, u64, (a < b ? b - a : a - b) + c)
OP3(sad_s64, u64, s64, s64, u64, (a < b ? (u64)b - (u64)a : (u64)a - (u64)b) + c)

/* Division by zero and its remainder are all ones, as on the hardware; the most negative number
 * over -1 wraps. */
#define DIVIDE(T, U, MIN) (b == 0 ? (T)~(U)0 : a == MIN && b == (T)-1 ? a : (T)(a / b))
#define REMAINDER(T, U, MIN) (b == 0 ? (T)~(U)0 : a == MIN && b == (T)-1 ? 0 : (T)(a % b))
/* By doubles, which the compiler divides by vectors, unlike integers. A quotient of words that is no integer is at least
 * 1/b from the next one, and its rounding less than 2^-20 / b. */
static inline f64 to_double(u32 a) { return (f64)(s32)(a ^ 1u << 31) + 2147483648.0; }
static inline u32 divide(u32 a, u32 b) {
  f64 q = __builtin_floor(to_double(a) / to_double(b ? b : 1));
  return b ? (u32)(s32)(q - 2147483648.0) ^ 1u << 31 : ~0u;
}
static inline s32 divide_signed(s32 a, s32 b) {
  s32 q = (s32)((f64)a / (f64)(b == 0 || b == -1 ? 1 : b));
  return b == 0 ? -1 : b == -1 ? (s32)(0 - (u32)a) : q;
}
OP2(div_u16, u16, u16, u16, b ? a / b : 0xFFFF)
OP2(div_u32, u32, u32, u32, divide(a, b))
OP2(div_u64, u64, u64, u64, b ? a / b : ~0ull)
OP2(div_s16, s16, s16, s16, DIVIDE(s16, u16, INT16_MIN))
OP2(div_s32, s32, s32, s32, divide_signed(a, b))
OP2(div_s64, s64, s64, s64, DIVIDE(s64, u64, INT64_MIN))
OP2(rem_u16, u16, u16, u16, b ? a % b : 0xFFFF)
OP2(rem_u32, u32, u32, u32, b ? a - divide(a, b) * b : ~0u)
OP2(rem_u64, u64, u64, u64, b ? a % b : ~0ull)
OP2(rem_s16, s16, s16, s16, REMAINDER(s16, u16, INT16_MIN))
OP2(rem_s32, s32, s32, s32, b ? (s32)((u32)a - (u32)divide_signed(a, b) * (u32)b) : -1)
OP2(rem_s64, s64, s64, s64, REMAINDER(s64, u64, INT64_MIN))

OP1(abs_s16, u16, s16, a < 0 ? -(u32)a : (u32)a)
OP1(abs_s32, u32, s32, a < 0 ? -(u32)a : (u32)a)
OP1(abs_s64, u64, s64, a < 0 ? -(u64)a : (u64)a)
OP1(neg_s16, u16, u16, -(u32)a)
OP1(neg_s32, u32, u32, -a)
OP1(neg_s64, u64, u64, -a)

OP2(min_u16, u16, u16, u16, a < b ? a : b)
OP2(min_s16, s16, s16, s16, a < b ? a : b)
OP2(min_u32, u32, u32, u32, a < b ? a : b)
OP2(min_s32, s32, s32, s32, a < b ? a : b)
OP2(min_u64, u64, u64, u64, a < b ? a : b)
OP2(min_s64, s64, s64, s64, a < b ? a : b)
OP2(max_u16, u16, u16, u16, a > b ? a : b)
OP2(max_s16, s16, s16, s16, a > b ? a : b)
OP2(max_u32, u32, u32, u32, a > b ? a : b)
OP2(max_s32, s32, s32, s32, a > b ? a : b)
OP2(max_u64, u64, u64, u64, a > b ? a : b)
OP2(max_s64, s64, s64, s64, a > b ? a : b)
OP2(min_relu_s32, s32, s32, s32, (a < b ? a : b) < 0 ? 0 : (a < b ? a : b))
OP2(max_relu_s32, s32, s32, s32, (a > b ? a : b) < 0 ? 0 : (a > b ? a : b))

/* Pairs of 16-bit integers: F of the high halves and of the low ones. */
#define PAIR(T, F) ((u32)(u16)F((T)(a >> 16), (T)(b >> 16)) << 16 | (u16)F((T)a, (T)b))
#define PAIR_LEAST(x, y) ((x) < (y) ? (x) : (y))
#define PAIR_MOST(x, y) ((x) > (y) ? (x) : (y))
#define PAIR_SUM(x, y) ((x) + (y))
#define NOT_NEGATIVE(x) ((x) < 0 ? 0 : (x))
#define PAIR_LEAST_RELU(x, y) NOT_NEGATIVE(PAIR_LEAST(x, y))
#define PAIR_MOST_RELU(x, y) NOT_NEGATIVE(PAIR_MOST(x, y))
OP2(add_u16x2, u32, u32, u32, PAIR(u16, PAIR_SUM))
OP2(min_u16x2, u32, u32, u32, PAIR(u16, PAIR_LEAST))
OP2(min_s16x2, u32, u32, u32, PAIR(s16, PAIR_LEAST))
OP2(max_u16x2, u32, u32, u32, PAIR(u16, PAIR_MOST))
OP2(max_s16x2, u32, u32, u32, PAIR(s16, PAIR_MOST))
OP2(min_relu_s16x2, u32, u32, u32, PAIR(s16, PAIR_LEAST_RELU))
OP2(max_relu_s16x2, u32, u32, u32, PAIR(s16, PAIR_MOST_RELU))

static inline u32 reverse32(u32 x) {
  u32 r = 0;
  for (int k = 0; k < 32; k++) r |= (x >> k & 1) << (31 - k);
  return r;
}
static inline u64 reverse64(u64 x) { return (u64)reverse32((u32)x) << 32 | reverse32((u32)(x >> 32)); }
OP1(popc_b32, u32, u32, __builtin_popcount(a))
OP1(popc_b64, u32, u64, __builtin_popcountll(a))
OP1(clz_b32, u32, u32, a ? __builtin_clz(a) : 32)
OP1(clz_b64, u32, u64, a ? __builtin_clzll(a) : 64)
OP1(brev_b32, u32, u32, reverse32(a))
OP1(brev_b64, u64, u64, reverse64(a))

/* bfind: the most significant bit that is not a copy of the sign; -1 if none. */
static inline u32 find64(u64 x, int bits, bool shift) {
  if (!x) return ~0u;
  u32 at = 63 - __builtin_clzll(x);
  return shift ? (u32)bits - 1 - at : at;
}
OP1(bfind_u32, u32, u32, find64(a, 32, false))
OP1(bfind_u64, u32, u64, find64(a, 64, false))
OP1(bfind_s32, u32, s32, find64((u32)(a < 0 ? ~a : a), 32, false))
OP1(bfind_s64, u32, s64, find64((u64)(a < 0 ? ~a : a), 64, false))
OP1(bfind_shiftamt_u32, u32, u32, find64(a, 32, true))
OP1(bfind_shiftamt_u64, u32, u64, find64(a, 64, true))
OP1(bfind_shiftamt_s32, u32, s32, find64((u32)(a < 0 ? ~a : a), 32, true))
OP1(bfind_shiftamt_s64, u32, s64, find64((u64)(a < 0 ? ~a : a), 64, true))

/* bfe, bfi: position and length are the low 8 bits of b and c in the 32-bit forms. The manual
 * restricts them to 0 to 255; the hardware's 64-bit forms take all their bits. */
static inline u64 extract(u64 a, u32 pos, u32 len, u32 bits, bool sign) {
  u64 fill = 0, last = (u64)pos + len - 1;
  if (sign && len) fill = a >> (last < bits - 1 ? last : bits - 1) & 1;
  u64 r = pos < bits ? a >> pos : 0;
  u32 have = pos < bits ? (bits - pos < len ? bits - pos : len) : 0;
  r = have < 64 ? r & ((1ull << have) - 1) : r;
  return fill && have < 64 ? r | ~0ull << have : r;
}
OP3(bfe_u32, u32, u32, u32, u32, extract(a, b & 255, c & 255, 32, false))
OP3(bfe_s32, u32, u32, u32, u32, extract(a, b & 255, c & 255, 32, true))
OP3(bfe_u64, u64, u64, u32, u32, extract(a, b, c, 64, false))
OP3(bfe_s64, u64, u64, u32, u32, extract(a, b, c, 64, true))

static inline u64 insert(u64 a, u64 b, u32 pos, u32 len, u32 bits) {
  if (pos >= bits || len == 0) return b;
  u64 m = len >= 64 ? ~0ull : (1ull << len) - 1;
  m <<= pos;
  return (b & ~m) | (a << pos & m);
}
void ptx_bfi_b32(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d);
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b), *c = SRC(u32, i->c), *e = SRC(u32, i->e);
  EACH_LANE { u32 r = (u32)insert(a[l], b[l], c[l] & 255, e[l] & 255, 32); d[l] = w->lane[l] ? r : d[l]; }
}
void ptx_bfi_b64(Warp *w, const Insn *i) {
  u64 *d = DST(u64, i->d);
  const u64 *a = SRC(u64, i->a), *b = SRC(u64, i->b);
  const u32 *c = SRC(u32, i->c), *e = SRC(u32, i->e);
  EACH_LANE { u64 r = insert(a[l], b[l], c[l], e[l], 64); d[l] = w->lane[l] ? r : d[l]; }
}
OP2(bmsk_clamp_b32, u32, u32, u32, a >= 32 ? 0 : b == 0 ? 0 : (b >= 32 ? ~0u : (1u << b) - 1) << a)
OP2(bmsk_wrap_b32, u32, u32, u32, (b & 31 ? (1u << (b & 31)) - 1 : 0) << (a & 31))
OP2(szext_clamp_u32, u32, u32, u32, b >= 32 ? a : b == 0 ? 0 : a & ((1u << b) - 1))
OP2(szext_wrap_u32, u32, u32, u32, (b & 31) == 0 ? 0 : a & ((1u << (b & 31)) - 1))
OP2(szext_clamp_s32, u32, u32, u32, b >= 32 ? a : b == 0 ? 0 : (u32)((s32)(a << (32 - b)) >> (32 - b)))
OP2(szext_wrap_s32, u32, u32, u32, (b & 31) == 0 ? 0 : (u32)((s32)(a << (32 - (b & 31))) >> (32 - (b & 31))))

/* fns: the n-th set bit from a base, upwards for n > 0, downwards for n < 0, at it for 0. */
static inline u32 nth_set(u32 mask, u32 base, s32 offset) {
  if (base > 31) return ~0u;
  if (offset == 0) return mask >> base & 1 ? base : ~0u;
  s32 step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -(s64)offset > 32 ? 33 : -offset;
  for (s32 p = (s32)base; p >= 0 && p < 32; p += step)
    if (mask >> p & 1 && --left == 0) return (u32)p;
  return ~0u;
}
OP3(fns_b32, u32, u32, u32, s32, nth_set(a, b, c))

static inline s32 byte_of(u32 x, int k, bool sign) { return sign ? (s8)(x >> 8 * k) : (s32)(u8)(x >> 8 * k); }
static inline s32 half_of(u32 x, int k, bool sign) { return sign ? (s16)(x >> 16 * k) : (s32)(u16)(x >> 16 * k); }
static inline u32 dot4(u32 a, u32 b, u32 c, bool sa, bool sb) {
  for (int k = 0; k < 4; k++) c += (u32)byte_of(a, k, sa) * (u32)byte_of(b, k, sb);
  return c;
}
static inline u32 dot2(u32 a, u32 b, u32 c, bool sa, bool sb, int from) {
  for (int k = 0; k < 2; k++) c += (u32)half_of(a, k, sa) * (u32)byte_of(b, from + k, sb);
  return c;
}
OP3(dp4a_u32_u32, u32, u32, u32, u32, dot4(a, b, c, false, false))
OP3(dp4a_u32_s32, u32, u32, u32, u32, dot4(a, b, c, false, true))
OP3(dp4a_s32_u32, u32, u32, u32, u32, dot4(a, b, c, true, false))
OP3(dp4a_s32_s32, u32, u32, u32, u32, dot4(a, b, c, true, true))
OP3(dp2a_lo_u32_u32, u32, u32, u32, u32, dot2(a, b, c, false, false, 0))
OP3(dp2a_lo_u32_s32, u32, u32, u32, u32, dot2(a, b, c, false, true, 0))
OP3(dp2a_lo_s32_u32, u32, u32, u32, u32, dot2(a, b, c, true, false, 0))
OP3(dp2a_lo_s32_s32, u32, u32, u32, u32, dot2(a, b, c, true, true, 0))
OP3(dp2a_hi_u32_u32, u32, u32, u32, u32, dot2(a, b, c, false, false, 2))
OP3(dp2a_hi_u32_s32, u32, u32, u32, u32, dot2(a, b, c, false, true, 2))
OP3(dp2a_hi_s32_u32, u32, u32, u32, u32, dot2(a, b, c, true, false, 2))
OP3(dp2a_hi_s32_s32, u32, u32, u32, u32, dot2(a, b, c, true, true, 2))

/* Base c + (sign-extended index a << b), b one constant for all lanes: made by fusion.py. */
void ptx_fused_index(Warp *w, const Insn *i) {
  u64 *d = DST(u64, i->d);
  const s32 *a = SRC(s32, i->a);
  const u64 *c = SRC(u64, i->c);
  u32 by = *SRC(u32, i->b), n = by & 63;
  u64 kept = by > 63 ? 0 : ~0ull;
  if (w->mask == FULL) {
    EACH_LANE { d[l] = (((u64)(s64)a[l] << n) & kept) + c[l]; }
  } else {
    EACH_LANE {
      u64 r = (((u64)(s64)a[l] << n) & kept) + c[l];
      d[l] = w->lane[l] ? r : d[l];
    }
  }
}
