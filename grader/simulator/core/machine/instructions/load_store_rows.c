/* PTX ISA, "Data Movement": ld and st of one word by every lane of a warp, when the addresses are rows
 * in shared or global memory. Every other access is left to load_store.c, which checks each lane. */
#include <string.h>
#include "machine/events.h"
#include "machine/memory.h"
#include "machine/proof.h"
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
  u64 step = p[1] - p[0];
  if (step & ~4ull) return false;
  Four wrong = {0}, row = ASCENDING_WORDS & (0 - (step >> 2)), next = 4 * step + (Four){0};
  for (u32 k = 0; k < LANES / lanes; k++) {
    Four want = (first[k] = *p) + row;
    for (u32 g = 0; g < lanes; g += 4, p += 4, want += next) {
      Four at;
      memcpy(&at, p, sizeof at);
      wrong |= at ^ want;
    }
  }
  r->n = LANES / lanes;
  r->lanes = lanes;
  r->step = (u32)step;
  return none(&wrong);
}

/* Adds to `wrong` where the words of a row are not `row`, and GROUP steps more for each group, from the
 * first one on. */
INLINE void check_row(const u32 *p, u32 lanes, const Eight *row, u32 step, Eight *wrong) {
  Eight want = *p + *row;
  for (u32 g = 0; g < lanes; g += GROUP, want += GROUP * step) {
    Eight at;
    eight(&at, p + g);
    *wrong |= at ^ want;
  }
}

/* The same for 32-bit addresses: vectors twice as wide, and a row that would wrap around is none. */
INLINE bool narrow_rows(const u32 *p, u32 lanes, u64 *first, Rows *r) {
  u32 step = p[1] - p[0];
  if (step & ~4u) return false;
  Eight wrong = {0}, row = 4 * ASCENDING & (0 - (step >> 2));
  for (u32 k = 0; k < LANES / lanes; k++, p += lanes) {
    if (*p > UINT32_MAX - 4 * lanes) return false;
    check_row(p, lanes, &row, step, &wrong);
    first[k] = *p;
  }
  r->n = LANES / lanes;
  r->lanes = lanes;
  r->step = step;
  return is_zero(&wrong);
}

/* The rows as offsets in the region of the first; false when one of them is out of bounds or misaligned. */
INLINE bool inside(const Region *g, u32 lanes, const u64 *first, u64 add, Rows *r) {
  u64 odd = 0, far = 0, row = 4 * lanes;
  if (g->size < row || g->size > UINT32_MAX) return false;
  u64 most = g->size - (r->step ? row : 4);
  for (u32 k = 0; k < LANES / lanes; k++) {
    u64 at = first[k] + add - g->base;
    odd |= at;
    far |= at > most;
    r->offset[k] = (u32)at;
  }
  return !far && !(odd & 3);
}

INLINE bool index_rows(Warp *w, const Insn *i, u32 lanes, u64 *first, Rows *r) {
  const u32 *a = SRC(u32, i->a), *b = SRC(u32, i->b);
  u32 near = a[1] - *a, far = b[1] - *b;
  u64 base = *SRC(u64, i->c), step = ((u64)near << near_shift(i)) + ((u64)far << far_shift(i));
  s32 most = INT32_MAX - LANES;
  if ((near | far) > 1 || step & ~4ull) return false;
  Eight wrong = {0}, near_row = ASCENDING & (0 - near), far_row = ASCENDING & (0 - far);
  for (u32 k = 0; k < LANES / lanes; k++, a += lanes, b += lanes) {
    if ((s32)*a > most || (s32)*b > most) return false;
    check_row(a, lanes, &near_row, near, &wrong);
    check_row(b, lanes, &far_row, far, &wrong);
    first[k] = base + element((s32)*a, (s32)*b, i);
  }
  r->n = LANES / lanes;
  r->lanes = lanes;
  r->step = (u32)step;
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

/* By vectors: a compiler may copy more bytes by an instruction that takes long to start. */
INLINE void copy_row(void *to, const void *from, u32 lanes) {
  for (u32 at = 0; at < 4 * lanes; at += sizeof(Eight)) {
    Eight v;
    memcpy(&v, (const u8 *)from + at, sizeof v);
    memcpy((u8 *)to + at, &v, sizeof v);
  }
}

INLINE void take_rows(u32 *d, const u8 *data, u32 lanes, const Rows *r) {
  if (r->step) {
    for (u32 k = 0; k < LANES / lanes; k++) copy_row(d + k * lanes, data + r->offset[k], lanes);
    return;
  }
  for (u32 k = 0; k < LANES / lanes; k++) {
    Eight v = *(const u32 *)(data + r->offset[k]) + (Eight){0};
    for (u32 g = 0; g < lanes; g += GROUP) put_eight(d + k * lanes + g, &v);
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
  if (is_watched(w, i, g.space)) announce_read_rows(w, i, &g, &r);
  take_rows(DST(u32, i->d), g.data, lanes, &r);
  return true;
}

bool load_rows(Warp *w, const Insn *i) {
  return loads_rows(w) && (load(w, i, 16, false) || load(w, i, 8, false));
}
bool load_indexed_rows(Warp *w, const Insn *i) {
  return loads_rows(w) && (load(w, i, 16, true) || load(w, i, 8, true));
}

INLINE bool know(Warp *w, const Insn *i, u32 lanes, KnownRows *known) {
  Rows r;
  if (!find_rows(w, i, lanes, &known->region, &r)) return false;
  if (known->region.buffer && w->launch->heap_limit) return false; /* malloc moves the table of buffers */
  known->lanes = lanes;
  known->step = r.step;
  known->most = known->region.size - (r.step ? 4 * lanes : 4);
  for (u32 k = 0; k < LANES / lanes; k++) known->first[k] = (u64)r.offset[k] - (u64)i->imm;
  return true;
}

/* Finds out whether the addresses in a register are rows, and which. */
static void know_rows(Warp *w, const Insn *i, KnownRows *known) {
  known->of = i->e;
  known->steps = w->steps;
  if (!know(w, i, 16, known) && !know(w, i, 8, known)) known->lanes = 0;
  known->unwatched = known->lanes == 16 && i->space == SHARED && w->cta->reduced;
}

INLINE bool known_offsets(const KnownRows *known, const Insn *i, u32 lanes, Rows *r) {
  u64 odd = 0, far = 0;
  for (u32 k = 0; k < LANES / lanes; k++) {
    u64 at = known->first[k] + (u64)i->imm;
    odd |= at;
    far |= at > known->most;
    r->offset[k] = (u32)at;
  }
  r->n = LANES / lanes;
  r->lanes = lanes;
  r->step = known->step;
  return !far && !(odd & 3);
}

INLINE bool load_known(Warp *w, const Insn *i, u32 lanes, const KnownRows *known) {
  const Region *g = &known->region;
  Rows r;
  if (!known_offsets(known, i, lanes, &r)) return false;
  if (is_watched(w, i, g->space)) announce_read_rows(w, i, g, &r);
  take_rows(DST(u32, i->d), g->data, lanes, &r);
  return true;
}

OUTLINE void load_repeated(Warp *w, const Insn *i, KnownRows *known, bool is_known) {
  bool done = false;
  if (is_strong(i)) { /* in a run that tries a memory order */
    load_strong(w, i, true);
    return;
  }
  if (loads_rows(w)) {
    if (!is_known) know_rows(w, i, known);
    done = known->lanes == 16 ? load_known(w, i, 16, known) : known->lanes == 8 && load_known(w, i, 8, known);
  }
  if (!done) load_word(w, i);
}

void ptx_ld_word_repeated(Warp *w, const Insn *i) {
  KnownRows *known = &w->known[i->e % KNOWN_ROWS];
  bool is_known = known->steps == w->steps && known->of == i->e;
  Rows r;
  if (is_known && known->unwatched && w->mask == FULL && known_offsets(known, i, 16, &r))
    take_rows(DST(u32, i->d), known->region.data, 16, &r);
  else
    load_repeated(w, i, known, is_known);
}

/* Where one word is a whole row, or rows overlap, lanes write the same word: left to load_store.c. */
INLINE bool store(Warp *w, const Insn *i, u32 lanes, bool indexed) {
  Region g;
  Rows r;
  if (!(indexed ? find_indexed(w, i, lanes, &g, &r) : find_rows(w, i, lanes, &g, &r))) return false;
  const u32 *v = SRC(u32, i->d);
  if (!r.step) return false;
  for (u32 k = 1; k < LANES / lanes; k++)
    if (r.offset[k] <= last_of(&r, k - 1)) return false;
  if (is_watched(w, i, g.space)) announce_write_rows(w, i, &g, &r);
  bool other = !w->launch->exact;
  for (u32 k = 0; k < LANES / lanes && !other; k++)
    other = memcmp(g.data + r.offset[k], v + k * lanes, lanes * sizeof *v) != 0;
  if (other) count_change(w, g.space);
  for (u32 k = 0; k < LANES / lanes; k++) copy_row(g.data + r.offset[k], v + k * lanes, lanes);
  return true;
}

bool store_rows(Warp *w, const Insn *i) {
  return stores_rows(w) && (store(w, i, 16, false) || store(w, i, 8, false));
}
bool store_indexed_rows(Warp *w, const Insn *i) {
  return stores_rows(w) && (store(w, i, 16, true) || store(w, i, 8, true));
}
