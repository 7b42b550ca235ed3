/* A full warp's access to words in rows: two rows of 16 lanes or four of 8, all of them consecutive words
 * or each one word for all its lanes. Most accesses are of this form, and one check then does for a row. */
#ifndef MACHINE_ROWS_H
#define MACHINE_ROWS_H
#include "machine/vector.h"

enum { MOST_ROWS = LANES / GROUP };
struct Rows {
  u32 n, lanes;          /* number of rows, lanes in each */
  u32 step;              /* from lane to lane: 4, or 0 where one word is a whole row */
  u32 offset[MOST_ROWS]; /* of each row's first word */
};

static inline u32 last_of(const Rows *r, u32 k) { return r->offset[k] + r->step * (r->lanes - 1); }

/* Every lane's offset. */
static inline void spread(const Rows *r, u32 *offset) {
  for (u32 k = 0; k < r->n; k++)
    for (u32 g = 0; g < r->lanes; g += GROUP, offset += GROUP) {
      Eight o = r->offset[k] + r->step * (g + ASCENDING);
      put_eight(offset, &o);
    }
}

/* load_store_rows.c. False: the addresses are not rows, nothing was done. */
bool store_rows(Warp *w, const Insn *i);
bool load_rows(Warp *w, const Insn *i);
bool store_indexed_rows(Warp *w, const Insn *i);
bool load_indexed_rows(Warp *w, const Insn *i);

/* load_store.c. A load whose addresses are not rows; one in a memory order. */
void load_word(Warp *w, const Insn *i);
void load_strong(Warp *w, const Insn *i, bool word);
static inline bool is_strong(const Insn *i) { return i->flag & (VOLATILE | ACQUIRE | RELAXED); }

/* An access that computes its address: c + (a << m) + (b << n), a and b sign-extended, and
 * imm: displacement << 16 | n << 8 | m. */
static inline u32 near_shift(const Insn *i) { return (u32)i->imm & 31; }
static inline u32 far_shift(const Insn *i) { return (u32)i->imm >> 8 & 31; }
static inline u64 element(s32 a, s32 b, const Insn *i) {
  return ((u64)(s64)a << near_shift(i)) + ((u64)(s64)b << far_shift(i)) + (u64)(i->imm >> 16);
}

#endif
