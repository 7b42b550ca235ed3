/* PTX ISA, "Comparison and Selection Instructions": set and setp. */
#include "machine/instructions/float.h"

/* setp.CmpOp.BoolOp p|q, a, b, {!}c: p = cmp op c, q = !cmp op c. */
enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };
u32 with_boolean(u32 r, u32 c, u32 mode) {
  return mode == BOOL_AND ? r & c : mode == BOOL_OR ? r | c : mode == BOOL_XOR ? r ^ c : r;
}
void set_predicate(Warp *w, const Insn *i, u32 r) {
  u32 m = w->mask, c = 0, *d = DST(u32, i->d);
  if (i->mode) c = *SRC(u32, i->c) ^ (i->imm ? FULL : 0);
  u32 q = with_boolean(~r, c, i->mode);
  r = with_boolean(r, c, i->mode);
  *d = (*d & ~m) | (r & m);
  if (i->flag) {
    u32 *e = DST(u32, i->e);
    *e = (*e & ~m) | (q & m);
  }
}

#define EQUALITY(T)              \
  TEST2(setp_eq_##T, T, a == b)  \
  TEST2(setp_ne_##T, T, a != b)
#define ORDER(T)                 \
  TEST2(setp_lt_##T, T, a < b)   \
  TEST2(setp_le_##T, T, a <= b)  \
  TEST2(setp_gt_##T, T, a > b)   \
  TEST2(setp_ge_##T, T, a >= b)
#define UNORDERED(T)                                             \
  TEST2(setp_equ_##T, T, !(a < b || a > b))                      \
  TEST2(setp_neu_##T, T, !(a == b))                              \
  TEST2(setp_ltu_##T, T, !(a >= b))                              \
  TEST2(setp_leu_##T, T, !(a > b))                               \
  TEST2(setp_gtu_##T, T, !(a <= b))                              \
  TEST2(setp_geu_##T, T, !(a < b))                               \
  TEST2(setp_num_##T, T, a == a && b == b)                       \
  TEST2(setp_nan_##T, T, a != a || b != b)
EQUALITY(u16) ORDER(u16) ORDER(s16)
EQUALITY(u32) ORDER(u32) ORDER(s32)
EQUALITY(u64) ORDER(u64) ORDER(s64)
TEST2(setp_eq_f32, f32, a == b)
TEST2(setp_ne_f32, f32, a < b || a > b)
ORDER(f32) UNORDERED(f32)
#define FLUSHED(OP) \
  TEST2(setp_##OP##_ftz_f32, f32, test_##OP(flushed(a), flushed(b)))
static inline bool test_eq(f32 a, f32 b) { return a == b; }
static inline bool test_ne(f32 a, f32 b) { return a < b || a > b; }
static inline bool test_lt(f32 a, f32 b) { return a < b; }
static inline bool test_le(f32 a, f32 b) { return a <= b; }
static inline bool test_gt(f32 a, f32 b) { return a > b; }
static inline bool test_ge(f32 a, f32 b) { return a >= b; }
static inline bool test_equ(f32 a, f32 b) { return !(a < b || a > b); }
static inline bool test_neu(f32 a, f32 b) { return !(a == b); }
static inline bool test_ltu(f32 a, f32 b) { return !(a >= b); }
static inline bool test_leu(f32 a, f32 b) { return !(a > b); }
static inline bool test_gtu(f32 a, f32 b) { return !(a <= b); }
static inline bool test_geu(f32 a, f32 b) { return !(a < b); }
static inline bool test_num(f32 a, f32 b) { return a == a && b == b; }
static inline bool test_nan(f32 a, f32 b) { return a != a || b != b; }
FLUSHED(eq) FLUSHED(ne) FLUSHED(lt) FLUSHED(le) FLUSHED(gt) FLUSHED(ge) FLUSHED(equ)
FLUSHED(neu) FLUSHED(ltu) FLUSHED(leu) FLUSHED(gtu) FLUSHED(geu) FLUSHED(num) FLUSHED(nan)

TEST2(setp_eq_f64, f64, a == b)
TEST2(setp_ne_f64, f64, a < b || a > b)
ORDER(f64) UNORDERED(f64)

/* set writes all ones or 1.0: the decoder makes a setp into a scratch predicate and one of these. */
void ptx_set_b16(Warp *w, const Insn *i) {
  u16 *d = DST(u16, i->d), one = (u16)i->imm;
  u32 p = *SRC(u32, i->a);
  EACH_LANE { u16 r = p >> l & 1 ? one : 0; d[l] = w->lane[l] ? r : d[l]; }
}
void ptx_set_b32(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), p = *SRC(u32, i->a), one = (u32)i->imm;
  EACH_LANE { u32 r = p >> l & 1 ? one : 0; d[l] = w->lane[l] ? r : d[l]; }
}
