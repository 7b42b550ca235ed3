/* How an instruction that works lane by lane is defined: a name, types, and one expression over its
 * operands a, b, c. */
#ifndef MACHINE_OPERATION_H
#define MACHINE_OPERATION_H
#include "machine/warp.h"

#define OP1(NAME, TD, TA, EXPR)                      \
  void ptx_##NAME(Warp *w, const Insn *i) {                \
    TD *d = DST(TD, i->d);                           \
    const TA *pa = SRC(TA, i->a);                    \
    if (w->mask == FULL) {                           \
      EACH_LANE { TA a = pa[l]; d[l] = (TD)(EXPR); } \
    } else {                                         \
      EACH_LANE {                                    \
        TA a = pa[l];                                \
        TD r = (TD)(EXPR);                           \
        d[l] = w->lane[l] ? r : d[l];                \
      }                                              \
    }                                                \
  }

#define OP2(NAME, TD, TA, TB, EXPR)                               \
  void ptx_##NAME(Warp *w, const Insn *i) {                             \
    TD *d = DST(TD, i->d);                                        \
    const TA *pa = SRC(TA, i->a);                                 \
    const TB *pb = SRC(TB, i->b);                                 \
    if (w->mask == FULL) {                                        \
      EACH_LANE { TA a = pa[l]; TB b = pb[l]; d[l] = (TD)(EXPR); } \
    } else {                                                      \
      EACH_LANE {                                                 \
        TA a = pa[l];                                             \
        TB b = pb[l];                                             \
        TD r = (TD)(EXPR);                                        \
        d[l] = w->lane[l] ? r : d[l];                             \
      }                                                           \
    }                                                             \
  }

#define OP3(NAME, TD, TA, TB, TC, EXPR)                                        \
  void ptx_##NAME(Warp *w, const Insn *i) {                                          \
    TD *d = DST(TD, i->d);                                                     \
    const TA *pa = SRC(TA, i->a);                                              \
    const TB *pb = SRC(TB, i->b);                                              \
    const TC *pc = SRC(TC, i->c);                                              \
    if (w->mask == FULL) {                                                     \
      EACH_LANE { TA a = pa[l]; TB b = pb[l]; TC c = pc[l]; d[l] = (TD)(EXPR); } \
    } else {                                                                   \
      EACH_LANE {                                                              \
        TA a = pa[l];                                                          \
        TB b = pb[l];                                                          \
        TC c = pc[l];                                                          \
        TD r = (TD)(EXPR);                                                     \
        d[l] = w->lane[l] ? r : d[l];                                          \
      }                                                                        \
    }                                                                          \
  }

/* A comparison: one bit a lane into a predicate. */
#define TEST2(NAME, T, EXPR)                                 \
  void ptx_##NAME(Warp *w, const Insn *i) {                        \
    const T *pa = SRC(T, i->a);                              \
    const T *pb = SRC(T, i->b);                              \
    u32 bit[LANES], r = 0;                                   \
    EACH_LANE { T a = pa[l]; T b = pb[l]; bit[l] = (EXPR) ? 1u << l : 0; } \
    for (int l = 0; l < LANES; l++) r |= bit[l];             \
    set_predicate(w, i, r);                                  \
  }

/* Writes a predicate's active lanes. */
static inline void put(Warp *w, const Insn *i, u32 r) {
  u32 *d = DST(u32, i->d);
  *d = (*d & ~w->mask) | (r & w->mask);
}

/* compare.c: the result of setp; and of a comparison r with .BoolOp and the predicate c. */
void set_predicate(Warp *w, const Insn *i, u32 r);
u32 with_boolean(u32 r, u32 c, u32 mode);

/* Instructions that other files name. */
Exec ptx_shfl_b32, ptx_cp_async, ptx_cp_async_bulk, ptx_cp_async_bulk_out, ptx_mbarrier, ptx_ld, ptx_ld_used, ptx_ld_stored, ptx_atom, ptx_atom_stored,
    ptx_st, ptx_fence, ptx_tex, ptx_tld4, ptx_sust;

static inline bool is_reload(const Insn *i) { return i->used & RELOADED && i->exec != ptx_ld_used; }

/* prmt: four bytes picked from the eight of {b,a}; the modes compute the selectors. */
static inline u32 permute(u32 a, u32 b, const u8 sel[4]) {
  u64 both = (u64)b << 32 | a;
  u32 r = 0;
  for (int k = 0; k < 4; k++) {
    u8 x = (u8)(both >> 8 * (sel[k] & 7));
    if (sel[k] & 8) x = x & 0x80 ? 0xFF : 0;
    r |= (u32)x << 8 * k;
  }
  return r;
}
enum { P_NONE, P_F4E, P_B4E, P_RC8, P_ECL, P_ECR, P_RC16 };
static inline u32 prmt(u32 a, u32 b, u32 c, u32 mode) {
  u8 s[4];
  u32 n = c & 3;
  for (u32 k = 0; k < 4; k++) {
    switch (mode) {
      case P_F4E: s[k] = (u8)(n + k); break;
      case P_B4E: s[k] = (u8)((n - k) & 7); break;
      case P_RC8: s[k] = (u8)n; break;
      case P_ECL: s[k] = (u8)(k > n ? k : n); break;
      case P_ECR: s[k] = (u8)(k < n ? k : n); break;
      case P_RC16: s[k] = (u8)((n & 1) * 2 + (k & 1)); break;
      default: s[k] = (u8)(c >> 4 * k & 15);
    }
  }
  return permute(a, b, s);
}

#endif
