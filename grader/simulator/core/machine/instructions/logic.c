/* PTX ISA, "Logic and Shift Instructions". */
#include "machine/instructions/operation.h"

enum { CONSTANTS = 1 }; /* the bank of a launch's constants: all lanes alike */

OP2(and_b16, u16, u16, u16, a & b)
OP2(and_b32, u32, u32, u32, a & b)
OP2(and_b64, u64, u64, u64, a & b)

/* The address of the word, or half of one, around an object of 8 or 16 bits: see part.c. */
static inline u64 part_address(u64 p, u64 aligned, u64 kind) {
  u64 marks = PART_MARK | (p & 3) << PART_AT | kind << PART_KIND;
  return (p & aligned) | (p >> PART_KIND ? 0 : marks);
}
OP2(and_byte_b64, u64, u64, u64, part_address(a, b, BYTE_PART))
OP2(and_half_b64, u64, u64, u64, part_address(a, b, HALF_PART))
OP2(and_stored_b64, u64, u64, u64, part_address(a, b, STORED_PART))
OP2(or_b16, u16, u16, u16, a | b)
OP2(or_b32, u32, u32, u32, a | b)
OP2(or_b64, u64, u64, u64, a | b)
OP2(xor_b16, u16, u16, u16, a ^ b)
OP2(xor_b32, u32, u32, u32, a ^ b)
OP2(xor_b64, u64, u64, u64, a ^ b)
OP1(not_b16, u16, u16, ~a)
OP1(not_b32, u32, u32, ~a)
OP1(not_b64, u64, u64, ~a)
OP1(cnot_b16, u16, u16, a == 0)
OP1(cnot_b32, u32, u32, a == 0)
OP1(cnot_b64, u64, u64, a == 0)

/* Predicates: one lane mask each. */
void ptx_and_pred(Warp *w, const Insn *i) { put(w, i, *SRC(u32, i->a) & *SRC(u32, i->b)); }
void ptx_or_pred(Warp *w, const Insn *i) { put(w, i, *SRC(u32, i->a) | *SRC(u32, i->b)); }
void ptx_xor_pred(Warp *w, const Insn *i) { put(w, i, *SRC(u32, i->a) ^ *SRC(u32, i->b)); }
void ptx_not_pred(Warp *w, const Insn *i) { put(w, i, ~*SRC(u32, i->a)); }
void ptx_mov_pred(Warp *w, const Insn *i) { put(w, i, *SRC(u32, i->a)); }
void ptx_selp_pred(Warp *w, const Insn *i) {
  u32 c = *SRC(u32, i->c);
  put(w, i, (*SRC(u32, i->a) & c) | (*SRC(u32, i->b) & ~c));
}

static inline u32 table3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (int k = 0; k < 8; k++)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}
OP3(lop3_b32, u32, u32, u32, u32, table3(a, b, c, (u32)i->imm))

/* Shift amounts are 32-bit; those past the width clamp. Most are one constant for all lanes. */
#define SHIFT(NAME, T, EXPR)                                                        \
  static void NAME##_by_one(Warp *w, const Insn *i) {                               \
    T *d = DST(T, i->d);                                                            \
    const T *pa = SRC(T, i->a);                                                     \
    u32 b = *SRC(u32, i->b);                                                        \
    EACH_LANE { T a = pa[l]; d[l] = (T)(EXPR); }                                    \
  }                                                                                 \
  static inline OP2(NAME##_by_each, T, T, u32, EXPR)                                \
  void ptx_##NAME(Warp *w, const Insn *i) {                                         \
    if (w->mask == FULL && (i->b & 3) == CONSTANTS) NAME##_by_one(w, i);            \
    else ptx_##NAME##_by_each(w, i);                                                \
  }

SHIFT(shl_b16, u16, b > 15 ? 0 : (u32)a << b)
SHIFT(shl_b32, u32, b > 31 ? 0 : a << b)
SHIFT(shl_b64, u64, b > 63 ? 0 : a << b)
SHIFT(shr_u16, u16, b > 15 ? 0 : a >> b)
SHIFT(shr_u32, u32, b > 31 ? 0 : a >> b)
SHIFT(shr_u64, u64, b > 63 ? 0 : a >> b)
SHIFT(shr_s16, s16, a >> (b > 15 ? 15 : b))
SHIFT(shr_s32, s32, a >> (b > 31 ? 31 : b))
SHIFT(shr_s64, s64, a >> (b > 63 ? 63 : b))

/* shf: a is the low word, b the high one. */
static inline u32 funnel_l(u32 a, u32 b, u32 n) { return n == 0 ? b : n >= 32 ? a : b << n | a >> (32 - n); }
static inline u32 funnel_r(u32 a, u32 b, u32 n) { return n == 0 ? a : n >= 32 ? b : a >> n | b << (32 - n); }
OP3(shf_l_wrap_b32, u32, u32, u32, u32, funnel_l(a, b, c & 31))
OP3(shf_r_wrap_b32, u32, u32, u32, u32, funnel_r(a, b, c & 31))
OP3(shf_l_clamp_b32, u32, u32, u32, u32, funnel_l(a, b, c > 32 ? 32 : c))
OP3(shf_r_clamp_b32, u32, u32, u32, u32, funnel_r(a, b, c > 32 ? 32 : c))

OP3(prmt_b32, u32, u32, u32, u32, prmt(a, b, c, i->mode))
