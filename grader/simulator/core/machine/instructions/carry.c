/* PTX ISA, "Extended-Precision Integer Arithmetic Instructions". The carry of each lane is one
 * bit of the predicate that the decoder names in `e`. */
#include "machine/instructions/operation.h"

#define CARRY(NAME, T, USES, SETS, SUM, OUT)                                    \
  void ptx_##NAME(Warp *w, const Insn *i) {                                           \
    T *d = DST(T, i->d);                                                        \
    const T *pa = SRC(T, i->a), *pb = SRC(T, i->b);                             \
    u32 *cc = DST(u32, i->e), in = USES ? *cc : 0, out = 0;                     \
    for (int l = 0; l < LANES; l++) {                                           \
      if (!w->lane[l]) continue;                                                \
      T a = pa[l], b = pb[l], x = in >> l & 1, r;                               \
      r = (T)(SUM);                                                             \
      out |= (u32)((OUT) ? 1u : 0u) << l;                                       \
      d[l] = r;                                                                 \
      (void)x;                                                                  \
    }                                                                           \
    if (SETS) *cc = (*cc & ~w->mask) | out;                                     \
  }

CARRY(add_cc_u32, u32, 0, 1, a + b, r < a)
CARRY(add_cc_u64, u64, 0, 1, a + b, r < a)
CARRY(addc_cc_u32, u32, 1, 1, a + b + x, x ? r <= a : r < a)
CARRY(addc_cc_u64, u64, 1, 1, a + b + x, x ? r <= a : r < a)
CARRY(addc_u32, u32, 1, 0, a + b + x, false)
CARRY(addc_u64, u64, 1, 0, a + b + x, false)
/* a - b is a + ~b + 1: after a subtraction the bit is set where nothing was borrowed. The
 * compiler's own division of 128-bit integers reads it so, by an addc after a subc. */
CARRY(sub_cc_u32, u32, 0, 1, a - b, a >= b)
CARRY(sub_cc_u64, u64, 0, 1, a - b, a >= b)
CARRY(subc_cc_u32, u32, 1, 1, a + ~b + x, x ? a >= b : a > b)
CARRY(subc_cc_u64, u64, 1, 1, a + ~b + x, x ? a >= b : a > b)
CARRY(subc_u32, u32, 1, 0, a + ~b + x, false)
CARRY(subc_u64, u64, 1, 0, a + ~b + x, false)

#define MAD_CARRY(NAME, T, W, USES, SETS, SHIFT)                                \
  void ptx_##NAME(Warp *w, const Insn *i) {                                           \
    T *d = DST(T, i->d);                                                        \
    const T *pa = SRC(T, i->a), *pb = SRC(T, i->b), *pc = SRC(T, i->c);         \
    u32 *cc = DST(u32, i->e), in = USES ? *cc : 0, out = 0;                     \
    for (int l = 0; l < LANES; l++) {                                           \
      if (!w->lane[l]) continue;                                                \
      T p = (T)((W)pa[l] * pb[l] >> SHIFT);                                     \
      W sum = (W)p + pc[l] + (in >> l & 1);                                     \
      out |= (u32)(sum >> (8 * sizeof(T)) & 1) << l;                            \
      d[l] = (T)sum;                                                            \
    }                                                                           \
    if (SETS) *cc = (*cc & ~w->mask) | out;                                     \
  }

MAD_CARRY(mad_lo_cc_u32, u32, u64, 0, 1, 0)
MAD_CARRY(mad_hi_cc_u32, u32, u64, 0, 1, 32)
MAD_CARRY(madc_lo_u32, u32, u64, 1, 0, 0)
MAD_CARRY(madc_hi_u32, u32, u64, 1, 0, 32)
MAD_CARRY(madc_lo_cc_u32, u32, u64, 1, 1, 0)
MAD_CARRY(madc_hi_cc_u32, u32, u64, 1, 1, 32)
MAD_CARRY(mad_lo_cc_u64, u64, unsigned __int128, 0, 1, 0)
MAD_CARRY(mad_hi_cc_u64, u64, unsigned __int128, 0, 1, 64)
MAD_CARRY(madc_lo_u64, u64, unsigned __int128, 1, 0, 0)
MAD_CARRY(madc_hi_u64, u64, unsigned __int128, 1, 0, 64)
MAD_CARRY(madc_lo_cc_u64, u64, unsigned __int128, 1, 1, 0)
MAD_CARRY(madc_hi_cc_u64, u64, unsigned __int128, 1, 1, 64)
