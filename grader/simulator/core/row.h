/* How a full warp's 32 words lie: two rows of 16 lanes or four of 8, each row consecutive words or
 * one word for all. Threads mostly touch memory so, and then one look does for a row. */
#ifndef ROW_H
#define ROW_H
#include "memory.h"
#include "pattern.h"

enum { MOST_ROWS = LANES / GROUP };
typedef struct {
  u32 n, lanes;          /* how many rows, and lanes of each */
  u32 offset[MOST_ROWS]; /* of each row's first word */
  u32 step[MOST_ROWS];   /* from lane to lane: 4, or 0 where one word is the whole row */
} Rows;

static inline u32 last_of(const Rows *r, u32 k) { return r->offset[k] + r->step[k] * (r->lanes - 1); }

/* Every lane's offset. */
static inline void spread(const Rows *r, u32 *offset) {
  for (u32 k = 0; k < r->n; k++)
    for (u32 g = 0; g < r->lanes; g += GROUP, offset += GROUP) {
      Eight o = r->offset[k] + r->step[k] * (g + ASCENDING);
      put_eight(offset, &o);
    }
}

/* False: not rows, nothing was done. */
bool store_rows(Warp *w, const Insn *i);
bool load_rows(Warp *w, const Insn *i);
bool store_indexed_rows(Warp *w, const Insn *i);
bool load_indexed_rows(Warp *w, const Insn *i);

/* Accesses that compute their address, made by indexed.py: base c + (a << m) + (b << n), a and b
 * sign-extended, and imm: displacement << 16 | n << 8 | m. */
static inline u32 near_shift(const Insn *i) { return (u32)i->imm & 31; }
static inline u32 far_shift(const Insn *i) { return (u32)i->imm >> 8 & 31; }
static inline u64 element(s32 a, s32 b, const Insn *i) {
  return ((u64)(s64)a << near_shift(i)) + ((u64)(s64)b << far_shift(i)) + (u64)(i->imm >> 16);
}

/* The watchers of rows. The lanes that a read's watcher could not judge are returned. */
u32 watch_shared_row_reads(Warp *w, const Insn *i, const Rows *r);
bool shared_input_rows(const Buffer *b, const Rows *r);
bool watch_shared_row_writes(Warp *w, const Insn *i, const Rows *r);
void watch_slow_reads(Warp *w, const Insn *i, const u32 *offset, u32 bytes, u32 slow);
void count_shared_rows(Warp *w, const Insn *i, const Rows *r);
void count_global_rows(Warp *w, const Insn *i, const Rows *r);

#endif
