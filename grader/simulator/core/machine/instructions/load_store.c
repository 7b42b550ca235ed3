/* PTX ISA, "Data Movement": ld and st. A warp's access to words in rows is left to load_store_rows.c;
 * most others are inside one region, which one check for all lanes shows; for the rest memory.c finds
 * the lanes that share a region. A load from an invalid address gives 0. */
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "machine/proof.h"
#include "machine/rows.h"

/* Addresses of all lanes; inactive ones repeat the first active lane's. */
static inline void addresses(const Warp *w, const Insn *i, u64 *at) {
  if (i->mode == 4) {
    const u32 *p = SRC(u32, i->a);
    EACH_LANE { at[l] = (u64)p[l] + (u64)i->imm; }
  } else {
    const u64 *p = SRC(u64, i->a);
    EACH_LANE { at[l] = p[l] + (u64)i->imm; }
  }
  if (w->mask == FULL) return;
  u64 first = at[__builtin_ctz(w->mask)];
  EACH_LANE { at[l] = w->lane[l] ? at[l] : first; }
}

/* Offsets of 32-bit addresses, in a window that begins at 0. */
static inline bool narrow_offsets(const Warp *w, const Insn *i, u64 size, u32 bytes, u32 first, u32 *offset) {
  const u32 *p = SRC(u32, i->a);
  u32 add = (u32)i->imm, most = 0, any = 0, fill = p[first];
  if (i->imm < 0 || (u64)i->imm > size - bytes) return false;
  if (w->mask == FULL) {
    EACH_LANE { most = p[l] > most ? p[l] : most; }
    EACH_LANE { offset[l] = p[l] + add; any |= p[l] + add; }
  } else {
    EACH_LANE {
      u32 x = w->lane[l] ? p[l] : fill;
      most = x > most ? x : most;
      offset[l] = x + add;
      any |= x + add;
    }
  }
  return most <= size - bytes - add && !(any & (bytes - 1));
}

/* The same of the threads' own local variables. */
static inline bool own_offsets(const Warp *w, const Insn *i, u64 size, u32 bytes, u32 first, u32 *offset) {
  const u64 *p = SRC(u64, i->a);
  u64 add = (u64)i->imm - LOCAL_BASE - LOCAL_START, fill = p[first] - owner_of(w, first), any = 0;
  u32 most = 0;
  if (w->mask == FULL) {
    EACH_LANE {
      u64 x = ((p[l] - owner_of(w, (u32)l)) & ~VARIABLE_BITS) + add;
      offset[l] = (u32)x;
      any |= x;
    }
  } else {
    EACH_LANE {
      u64 own = p[l] - owner_of(w, (u32)l), x = ((w->lane[l] ? own : fill) & ~VARIABLE_BITS) + add;
      offset[l] = (u32)x;
      any |= x;
    }
  }
  EACH_LANE { most = offset[l] > most ? offset[l] : most; }
  return any >> 32 == 0 && most <= size - bytes && !(any & (bytes - 1));
}

static inline bool wide_offsets(const Warp *w, const Insn *i, u64 base, u64 size, u32 bytes, u32 first,
                                u32 *offset) {
  const u64 *p = SRC(u64, i->a);
  u64 add = (u64)i->imm - base, any = 0, fill = p[first];
  u32 most = 0;
  if (w->mask == FULL) {
    EACH_LANE { u64 x = p[l] + add; offset[l] = (u32)x; any |= x; }
  } else {
    EACH_LANE { u64 x = (w->lane[l] ? p[l] : fill) + add; offset[l] = (u32)x; any |= x; }
  }
  EACH_LANE { most = offset[l] > most ? offset[l] : most; }
  return any >> 32 == 0 && most <= size - bytes && !(any & (bytes - 1));
}

/* The frequent case, in few passes: every lane aligned and inside the first lane's region. */
static inline bool all_inside(const Warp *w, const Insn *i, u32 bytes, u32 flags, Region *r, u32 *offset) {
  u32 first = w->mask == FULL ? 0 : (u32)__builtin_ctz(w->mask);
  u64 start = i->mode == 4 ? SRC(u32, i->a)[first] : SRC(u64, i->a)[first];
  *r = region_of(w, i->space, start + (u64)i->imm);
  if (r->space == GENERIC || r->size < bytes || r->size > UINT32_MAX) return false;
  if (flags & STORE && (r->space == CONST || r->space == PARAM)) return false;
  if (start & LOCAL_MARK) return own_offsets(w, i, r->size, bytes, first, offset);
  if (i->mode == 4 && r->base) return false;
  return i->mode == 4 ? narrow_offsets(w, i, r->size, bytes, first, offset)
                      : wide_offsets(w, i, r->base, r->size, bytes, first, offset);
}

/* By size: a memcpy of a variable size would write x in parts, and the read of all of x would wait for
 * them. */
static inline u64 get_bytes(const u8 *p, u32 size, bool sign) {
  u64 x = 0;
  switch (size) {
    case 1: memcpy(&x, p, 1); return sign ? (u64)(s64)(s8)x : x;
    case 2: memcpy(&x, p, 2); return sign ? (u64)(s64)(s16)x : x;
    case 4: memcpy(&x, p, 4); return sign ? (u64)(s64)(s32)x : x;
    default: memcpy(&x, p, 8); return x;
  }
}

static inline void put_bytes(u8 *p, u64 x, u32 size) {
  switch (size) {
    case 1: memcpy(p, &x, 1); break;
    case 2: memcpy(p, &x, 2); break;
    case 4: memcpy(p, &x, 4); break;
    default: memcpy(p, &x, 8);
  }
}

static void load_any(Warp *w, const Insn *i, const Region *r, const u32 *offset) {
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    if (i->size == 4 && i->width == 4 && r->space != LOCAL) {
      u32 *d = DST(u32, ref);
      for (u32 l = 0; l < LANES; l++)
        if (w->lane[l]) d[l] = *(const u32 *)(r->data + offset[l] + 4 * k);
      continue;
    }
    for (u32 l = 0; l < LANES; l++) {
      if (!w->lane[l]) continue;
      const u8 *p = lane_data(w, r, l) + offset[l] + k * i->size;
      u64 x = get_bytes(p, i->size, i->flag & SIGNED_LOAD);
      set_register_lane(w, ref, i->width, l, i->size == 8 ? load_pointer(w, p, x) : x);
    }
  }
}

static void clear_result(Warp *w, const Insn *i, u32 mask) {
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    for (u32 l = 0; l < LANES; l++) {
      if (!(mask >> l & 1)) continue;
      set_register_lane(w, ref, i->width, l, 0);
    }
  }
}

/* One word for each lane of a full warp. */
static inline void load_words(u32 *d, const u8 *data, const u32 *offset) {
  for (u32 g = 0; g < LANES; g += GROUP) {
    Eight v;
    const u8 *p = data + offset[g];
    switch (pattern_of(offset + g)) {
      case STEP: memcpy(&v, p, sizeof v); break;
      case SAME: v = *(const u32 *)p + (Eight){0}; break;
      default:
        for (u32 k = 0; k < GROUP; k++) v[k] = *(const u32 *)(data + offset[g + k]);
    }
    put_eight(d + g, &v);
  }
}

/* A load of which the program does not use all bytes: the others are padding, or another thread's. What
 * the watchers keep apart, a granule, is used as a whole. */
OUTLINE void announce_used(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  u32 shift = r->space == SHARED ? w->launch->shared_shift : w->launch->global_shift, each = 1u << shift;
  u32 part[LANES] __attribute__((aligned(32)));
  announce_request(w, i, r, offset, bytes);
  for (u32 from = 0, to; from < bytes; from = to + each) {
    for (to = from; to < bytes && i->used >> to & ((1u << each) - 1); to += each) continue;
    if (to == from) continue;
    EACH_LANE { part[l] = offset[l] + from; }
    announce_read_part(w, i, r, part, (to < bytes ? to : bytes) - from);
  }
}

static inline void load_group(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes, bool word) {
  if (!is_watched(w, i, r->space)) {}
  else if (i->exec == ptx_ld_used) announce_used(w, i, r, offset, bytes);
  else announce_read(w, i, r, offset, bytes);
  if (!word) {
    load_any(w, i, r, offset);
    return;
  }
  u32 *d = DST(u32, i->d);
  const u8 *data = r->data;
  if (r->space == LOCAL) {
    for (u32 l = 0; l < LANES; l++)
      if (w->lane[l]) memcpy(d + l, lane_data(w, r, l) + offset[l], 4);
  } else if (w->mask == FULL) {
    load_words(d, data, offset);
  } else {
    EACH_LANE { u32 x = *(const u32 *)(data + offset[l]); d[l] = w->lane[l] ? x : d[l]; }
  }
}

static void load_apart(Warp *w, const Insn *i, u32 *offset, u32 bytes, bool word) {
  u64 at[LANES] __attribute__((aligned(32)));
  addresses(w, i, at);
  if (i->flag & (ACQUIRE | RELAXED) && i->count == 1 && bytes <= 4 && has_parts(at)) {
    load_parts(w, i, at);
    return;
  }
  check_owners(w, i, at, bytes, 0);
  u32 whole = w->mask, left = drop_misaligned(w, i, at, whole, bytes, 0), done = 0;
  while (left) {
    Region r;
    u32 group = next_group(w, i, at, &left, bytes, 0, &r, offset);
    if (!group) continue;
    done |= group;
    load_group(w, i, &r, offset, bytes, word);
  }
  if (w->mask != whole) set_mask(w, whole);
  if (done != whole) clear_result(w, i, whole & ~done);
}

static inline void load(Warp *w, const Insn *i, u32 bytes, bool word) {
  u32 offset[LANES] __attribute__((aligned(32)));
  Region r;
  if (all_inside(w, i, bytes, 0, &r, offset)) load_group(w, i, &r, offset, bytes, word);
  else load_apart(w, i, offset, bytes, word);
}

void ptx_ld_used(Warp *w, const Insn *i) { load(w, i, (u32)i->size * i->count, false); }
void ptx_ld_stored(Warp *w, const Insn *i) { load(w, i, (u32)i->size * i->count, false); }

/* The load may change the register of the address. */
void load_strong(Warp *w, const Insn *i, bool word) {
  u64 at[LANES];
  for (u32 l = 0; l < LANES; l++) at[l] = lane_address(w, i, l);
  note_strong(w, i, at[first_lane(w->mask)]);
  if (!word || !load_rows(w, i)) ptx_ld_stored(w, i);
  announce_loaded(w, i);
  look(w, i, at, w->mask);
}

void ptx_ld(Warp *w, const Insn *i) {
  if (is_strong(i)) load_strong(w, i, false);
  else load(w, i, (u32)i->size * i->count, false);
}
void load_word(Warp *w, const Insn *i) { load(w, i, 4, true); }
void ptx_ld_word(Warp *w, const Insn *i) {
  if (is_strong(i)) load_strong(w, i, true);
  else if (!load_rows(w, i)) load_word(w, i);
}

static void store_any(Warp *w, const Insn *i, const Region *r, const u32 *offset) {
  u32 order = w->launch->first_wins ? LANES - 1 : 0;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    for (u32 n = 0; n < LANES; n++) {
      u32 l = n ^ order;
      if (!w->lane[l]) continue;
      u64 x = register_lane(w, ref, i->width, l);
      u8 *p = lane_data(w, r, l) + offset[l] + k * i->size;
      put_bytes(p, x, i->size);
      if (i->used) store_pointer(w, i, r, p, x);
    }
  }
}

/* Whether a store changes memory; asked only where threads may wait for each other. */
static bool stores_other(const Warp *w, const Insn *i, const Region *r, const u32 *offset) {
  if (!w->launch->exact || i->used & SHARED_POINTER) return true;
  for (u32 m = w->mask; m; m &= m - 1)
    if (!stores_same(w, i, first_lane(m), r->data + offset[first_lane(m)])) return true;
  return false;
}

static inline void store_group(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes,
                               bool word) {
  if (is_watched(w, i, r->space)) announce_write(w, i, r, offset, bytes);
  if (r->space != LOCAL && stores_other(w, i, r, offset)) count_change(w, r->space);
  if (!word || w->launch->first_wins) {
    store_any(w, i, r, offset);
    return;
  }
  const u32 *v = SRC(u32, i->d);
  if (r->space == LOCAL) {
    for (u32 l = 0; l < LANES; l++)
      if (w->lane[l]) memcpy(lane_data(w, r, l) + offset[l], v + l, 4);
    return;
  }
  if (w->mask == FULL) {
    for (u32 l = 0; l < LANES; l++) *(u32 *)(r->data + offset[l]) = v[l];
    return;
  }
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    *(u32 *)(r->data + offset[l]) = v[l];
  }
}

static void store_apart(Warp *w, const Insn *i, u32 *offset, u32 bytes, bool word) {
  u64 at[LANES] __attribute__((aligned(32)));
  Region r;
  addresses(w, i, at);
  check_owners(w, i, at, bytes, STORE);
  u32 whole = w->mask, left = drop_misaligned(w, i, at, whole, bytes, STORE);
  while (left)
    if (next_group(w, i, at, &left, bytes, STORE, &r, offset))
      store_group(w, i, &r, offset, bytes, word);
  if (w->mask != whole) set_mask(w, whole);
}

static inline void store(Warp *w, const Insn *i, u32 bytes, bool word) {
  u32 offset[LANES] __attribute__((aligned(32)));
  Region r;
  if (all_inside(w, i, bytes, STORE, &r, offset)) store_group(w, i, &r, offset, bytes, word);
  else store_apart(w, i, offset, bytes, word);
}

void ptx_st(Warp *w, const Insn *i) { store(w, i, (u32)i->size * i->count, false); }
OUTLINE void store_word(Warp *w, const Insn *i) { store(w, i, 4, true); }
void ptx_st_word(Warp *w, const Insn *i) {
  if (!store_rows(w, i)) store_word(w, i);
}

/* The same access through a register for the address, which no other instruction reads. */
static Insn by_address(Warp *w, const Insn *i) {
  Insn plain = *i;
  u64 *at = DST(u64, i->e);
  const s32 *a = SRC(s32, i->a), *b = SRC(s32, i->b);
  const u64 *base = SRC(u64, i->c);
  for (u32 l = 0; l < LANES; l++) at[l] = base[l] + element(a[l], b[l], i);
  plain.a = i->e;
  plain.imm = 0;
  return plain;
}
void ptx_ld_word_indexed(Warp *w, const Insn *i) {
  if (load_indexed_rows(w, i)) return;
  Insn plain = by_address(w, i);
  load(w, &plain, 4, true);
}
void ptx_st_word_indexed(Warp *w, const Insn *i) {
  if (store_indexed_rows(w, i)) return;
  Insn plain = by_address(w, i);
  store(w, &plain, 4, true);
}
