/* PTX ISA, "Data Movement": ld and st of one word by every lane of a warp, when the addresses are rows
 * in shared or global memory. Every other access is left to load_store.c, which checks each lane. */
#include "machine/events.h"
#include "machine/memory.h"
#include "machine/rows.h"

typedef u64 Four __attribute__((vector_size(32)));
#define ASCENDING_WORDS ((Four){0, 4, 8, 12})

static inline bool none(const Four *v) {
  Eight x;
  memcpy(&x, v, sizeof x);
  return is_zero(&x);
}

/* Whether the addresses are rows of `lanes` lanes, and the first address of each row. */
INLINE bool wide_rows(const u64 *p, u32 lanes, u64 *first, Rows *r) {
  Four wrong = {0};
  r->n = LANES / lanes;
  r->lanes = lanes;
  for (u32 k = 0; k < LANES / lanes; k++) {
    u64 base = p[0], step = p[1] - base;
    if (step & ~4ull) return false;
    Four want = base + (ASCENDING_WORDS & (0 - (step >> 2))), next = 4 * step + (Four){0};
    for (u32 g = 0; g < lanes; g += 4, p += 4, want += next) {
      Four at;
      memcpy(&at, p, sizeof at);
      wrong |= at ^ want;
    }
    first[k] = base;
    r->step[k] = (u32)step;
  }
  return none(&wrong);
}

/* The same for 32-bit addresses: vectors twice as wide, and a row that would wrap around is none. */
INLINE bool narrow_rows(const u32 *p, u32 lanes, u64 *first, Rows *r) {
  Eight wrong = {0};
  r->n = LANES / lanes;
  r->lanes = lanes;
  for (u32 k = 0; k < LANES / lanes; k++) {
    u32 base = p[0], step = p[1] - base;
    if (step & ~4u || base > UINT32_MAX - 4 * lanes) return false;
    Eight want = base + (4 * ASCENDING & (0 - (step >> 2)));
    for (u32 g = 0; g < lanes; g += GROUP, p += GROUP, want += GROUP * step) {
      Eight at;
      eight(&at, p);
      wrong |= at ^ want;
    }
    first[k] = base;
    r->step[k] = step;
  }
  return is_zero(&wrong);
}

/* The rows as offsets in the region of the first; false when one of them is out of bounds or misaligned. */
INLINE bool inside(const Region *g, u32 lanes, const u64 *first, u64 add, Rows *r) {
  u64 odd = 0, far = 0, row = 4 * lanes;
  if (g->size < row || g->size > UINT32_MAX) return false;
  for (u32 k = 0; k < LANES / lanes; k++) {
    u64 at = first[k] + add - g->base;
    odd |= at;
    far |= at > g->size - (r->step[k] ? row : 4);
    r->offset[k] = (u32)at;
  }
  return !far && !(odd & 3);
}

/* Adds to `wrong` where indices of a row are neither one after the other nor all the same. */
INLINE void check_row(const u32 *p, u32 lanes, u32 step, Eight *wrong) {
  Eight want = *p + (ASCENDING & (0 - step));
  for (u32 g = 0; g < lanes; g += GROUP, want += GROUP * step) {
    Eight at;
    eight(&at, p + g);
    *wrong |= at ^ want;
  }
}

INLINE bool index_rows(Warp *w, const Insn *i, u32 lanes, u64 *first, Rows *r) {
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b);
  u64 base = *SRC(u64, i->c);
  s32 most = INT32_MAX - LANES;
  Eight wrong = {0};
  r->n = LANES / lanes;
  r->lanes = lanes;
  for (u32 k = 0; k < LANES / lanes; k++, a += lanes, b += lanes) {
    u32 near = a[1] - *a, far = b[1] - *b;
    if ((near | far) > 1 || (s32)*a > most || (s32)*b > most) return false;
    u64 step = ((u64)near << near_shift(i)) + ((u64)far << far_shift(i));
    if (step & ~4ull) return false;
    check_row(a, lanes, near, &wrong);
    check_row(b, lanes, far, &wrong);
    first[k] = base + element((s32)*a, (s32)*b, i);
    r->step[k] = (u32)step;
  }
  return is_zero(&wrong);
}

/* `lanes` is a constant in all that follows: one copy of the code for each length of rows. */
INLINE bool in_region(Warp *w, const Insn *i, u32 lanes, const u64 *first, u64 add, Region *g, Rows *r) {
  *g = region_of(w, i->space, first[0] + add);
  return inside(g, lanes, first, add, r) && (g->space == SHARED || g->space == GLOBAL);
}

INLINE bool find_rows(Warp *w, const Insn *i, u32 lanes, Region *g, Rows *r) {
  u64 first[MOST_ROWS];
  return (i->mode == 4 ? narrow_rows(SRC(u32, i->a), lanes, first, r) : wide_rows(SRC(u64, i->a), lanes, first, r)) &&
         in_region(w, i, lanes, first, (u64)i->imm, g, r);
}

INLINE bool find_indexed(Warp *w, const Insn *i, u32 lanes, Region *g, Rows *r) {
  u64 first[MOST_ROWS];
  return index_rows(w, i, lanes, first, r) && in_region(w, i, lanes, first, 0, g, r);
}

INLINE void take_rows(u32 *d, const u8 *data, u32 lanes, const Rows *r) {
  for (u32 k = 0; k < LANES / lanes; k++) {
    const u8 *p = data + r->offset[k];
    Eight v = *(const u32 *)p + (Eight){0};
    for (u32 g = 0; g < lanes; g += GROUP, d += GROUP, p += sizeof v) {
      if (r->step[k]) memcpy(&v, p, sizeof v);
      put_eight(d, &v);
    }
  }
}

static inline bool loads_rows(const Warp *w) {
  return w->mask == FULL && w->worker->on->reads_by_rows;
}
static inline bool stores_rows(const Warp *w) {
  return w->mask == FULL && w->worker->on->writes_by_rows;
}

INLINE bool load(Warp *w, const Insn *i, u32 lanes, bool indexed) {
  Region g;
  Rows r;
  if (!(indexed ? find_indexed(w, i, lanes, &g, &r) : find_rows(w, i, lanes, &g, &r))) return false;
  announce_read_rows(w, i, &g, &r);
  take_rows(DST(u32, i->d), g.data, lanes, &r);
  return true;
}

bool load_rows(Warp *w, const Insn *i) {
  return loads_rows(w) && (load(w, i, 16, false) || load(w, i, 8, false));
}
bool load_indexed_rows(Warp *w, const Insn *i) {
  return loads_rows(w) && (load(w, i, 16, true) || load(w, i, 8, true));
}

/* Where one word is a whole row, or rows overlap, lanes write the same word: left to load_store.c. */
INLINE bool store(Warp *w, const Insn *i, u32 lanes, bool indexed) {
  Region g;
  Rows r;
  if (!(indexed ? find_indexed(w, i, lanes, &g, &r) : find_rows(w, i, lanes, &g, &r))) return false;
  const u32 *v = SRC(u32, i->d);
  for (u32 k = 0; k < LANES / lanes; k++)
    if (!r.step[k] || (k && r.offset[k] <= last_of(&r, k - 1))) return false;
  announce_write_rows(w, i, &g, &r);
  for (u32 k = 0; k < LANES / lanes; k++) memcpy(g.data + r.offset[k], v + k * lanes, 4 * lanes);
  return true;
}

bool store_rows(Warp *w, const Insn *i) {
  return stores_rows(w) && (store(w, i, 16, false) || store(w, i, 8, false));
}
bool store_indexed_rows(Warp *w, const Insn *i) {
  return stores_rows(w) && (store(w, i, 16, true) || store(w, i, 8, true));
}
