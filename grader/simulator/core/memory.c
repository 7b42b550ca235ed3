/* PTX ISA, "Data Movement": ld and st. Every access is resolved lane by lane to the region that
 * holds it; lanes that share a region go on together. What strays is announced and dropped: a
 * stray load gives 0. There is no unchecked way to memory. */
#include <string.h>
#include "memory.h"
#include "pattern.h"
#include "row.h"
#include "trace.h"

enum { SIGN = 1 };

static inline u32 result_operand(const Insn *i, u32 k) {
  return k == 0 ? i->d : k == 1 ? i->b : k == 2 ? i->c : i->e;
}

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

u32 lanes_inside(const Region *r, const u64 *at, u32 mask, u32 bytes) {
  if (r->space == GENERIC || r->size < bytes) return 0;
  u64 most = r->size - bytes;
  u32 in = 0;
  for (int l = 0; l < LANES; l++) in |= (u32)(at[l] - r->base <= most) << l;
  return in & mask;
}

/* The lanes that miss their natural alignment are announced and dropped. */
u32 drop_misaligned(Warp *w, const Insn *i, const u64 *at, u32 mask, u32 bytes, u32 flags) {
  u64 low = 0;
  EACH_LANE { low |= at[l]; }
  if (!(low & (bytes - 1))) return mask;
  for (u32 left = mask; left; left &= left - 1) {
    u32 l = (u32)__builtin_ctz(left);
    if (!(at[l] & (bytes - 1))) continue;
    watch_invalid(w, i, l, at[l], bytes, flags | MISALIGNED);
    mask &= ~(1u << l);
  }
  return mask;
}

/* The next group of lanes in one region: its mask, 0 when the first lane strays (announced and
 * taken from *left). The caller's mask is set to the group's. */
u32 next_group(Warp *w, const Insn *i, const u64 *at, u32 *left, u32 bytes, u32 flags, Region *r,
               u32 *offset) {
  u32 first = (u32)__builtin_ctz(*left);
  *r = region_of(w, i->space, at[first]);
  u32 group = lanes_inside(r, at, *left, bytes);
  bool frozen = (r->space == CONST || r->space == PARAM) && flags & STORE;
  if (!(group >> first & 1) || frozen) {
    watch_invalid(w, i, first, at[first], bytes, flags | (frozen ? READONLY : 0));
    *left &= ~(1u << first);
    return 0;
  }
  *left &= ~group;
  u32 fill = (u32)(at[first] - r->base);
  if (group == FULL) {
    EACH_LANE { offset[l] = (u32)(at[l] - r->base); }
  } else {
    for (u32 l = 0; l < LANES; l++) offset[l] = group >> l & 1 ? (u32)(at[l] - r->base) : fill;
  }
  if (group != w->mask) set_mask(w, group);
  return group;
}

/* Offsets of 32-bit addresses, which lie in a window that begins at 0. */
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
  return i->mode == 4 ? narrow_offsets(w, i, r->size, bytes, first, offset)
                      : wide_offsets(w, i, r->base, r->size, bytes, first, offset);
}

static inline u8 *lane_data(const Warp *w, const Region *r, u32 l) {
  return r->space == LOCAL ? r->data + (size_t)l * w->local_room : r->data;
}

/* By size: what a copy of so many bytes writes in parts, reading it as a whole would wait for. */
static inline u64 fetch(const u8 *p, u32 size, bool sign) {
  u64 x = 0;
  switch (size) {
    case 1: memcpy(&x, p, 1); return sign ? (u64)(s64)(s8)x : x;
    case 2: memcpy(&x, p, 2); return sign ? (u64)(s64)(s16)x : x;
    case 4: memcpy(&x, p, 4); return sign ? (u64)(s64)(s32)x : x;
    default: memcpy(&x, p, 8); return x;
  }
}

static inline void keep(u8 *p, u64 x, u32 size) {
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
    for (u32 l = 0; l < LANES; l++) {
      if (!w->lane[l]) continue;
      u64 x = fetch(lane_data(w, r, l) + offset[l] + k * i->size, i->size, i->flag & SIGN);
      set_register_lane(w, ref, i->width, l, x);
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

static inline void count(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes, bool stores) {
  if (is_traced(w, r->space, stores)) trace_access(w, i, r->space, r->buffer, offset, bytes);
  if (!w->launch->counter) return;
  if (r->space == SHARED) count_shared(w, i, offset, bytes);
  else if (r->space == GLOBAL) count_global(w, i, offset, bytes);
}

enum { VOLATILE = 2, ACQUIRE = 4, RELEASE = 8, RELAXED = 16 };
#define STRONG (VOLATILE | ACQUIRE | RELEASE | RELAXED)

/* Volatile shared accesses order nothing (the old warp reductions) and count as plain ones, unless
 * the code has fences for a block: then they are its flags. */
static bool strong(const Warp *w, const Insn *i, const Region *r) {
  if (!w->launch->exact || !(i->flag & STRONG)) return false;
  u32 orders = w->launch->block_fences ? STRONG : STRONG & ~VOLATILE;
  return r->space == GLOBAL || (r->space == SHARED && i->flag & orders);
}

static inline void announce_read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (w->cta->flying && r->space == SHARED) watch_landing(w, i, offset, bytes, false);
  if (strong(w, i, r)) {
    exact_strong(w, i, r->buffer, offset, bytes, PEEKS, false);
  } else if (r->space == SHARED) {
    watch_shared_read(w, i, offset, bytes);
  } else if (r->space == GLOBAL) {
    watch_global_read(w, i, r->buffer, offset, bytes);
  }
  count(w, i, r, offset, bytes, false);
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

static inline void load_group(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes, bool word) {
  announce_read(w, i, r, offset, bytes);
  if (!word) {
    load_any(w, i, r, offset);
    return;
  }
  u32 *d = DST(u32, i->d);
  const u8 *data = r->data;
  if (r->space == LOCAL) {
    for (u32 l = 0; l < LANES; l++)
      if (w->lane[l]) d[l] = *(const u32 *)(lane_data(w, r, l) + offset[l]);
  } else if (w->mask == FULL) {
    load_words(d, data, offset);
  } else {
    EACH_LANE { u32 x = *(const u32 *)(data + offset[l]); d[l] = w->lane[l] ? x : d[l]; }
  }
}

static void load_apart(Warp *w, const Insn *i, u32 *offset, u32 bytes, bool word) {
  u64 at[LANES] __attribute__((aligned(32)));
  addresses(w, i, at);
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

void ptx_ld(Warp *w, const Insn *i) { load(w, i, (u32)i->size * i->count, false); }
void ptx_ld_word(Warp *w, const Insn *i) {
  if (!load_rows(w, i)) load(w, i, 4, true);
}

static void store_any(Warp *w, const Insn *i, const Region *r, const u32 *offset) {
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    for (u32 l = 0; l < LANES; l++) {
      if (!w->lane[l]) continue;
      u64 x = register_lane(w, ref, i->width, l);
      keep(lane_data(w, r, l) + offset[l] + k * i->size, x, i->size);
    }
  }
}

static inline void store_group(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes,
                               bool word) {
  if (w->cta->flying && r->space == SHARED) watch_landing(w, i, offset, bytes, true);
  if (strong(w, i, r)) {
    exact_strong(w, i, r->buffer, offset, bytes, UPDATES, i->flag & RELEASE);
  } else if (r->space == SHARED) {
    watch_shared_write(w, i, offset, bytes);
  } else if (r->space == GLOBAL) {
    watch_global_write(w, i, r->buffer, offset, bytes);
  }
  count(w, i, r, offset, bytes, true);
  if (!word) {
    store_any(w, i, r, offset);
    return;
  }
  const u32 *v = SRC(u32, i->d);
  if (r->space == LOCAL) {
    for (u32 l = 0; l < LANES; l++)
      if (w->lane[l]) *(u32 *)(lane_data(w, r, l) + offset[l]) = v[l];
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
void ptx_st_word(Warp *w, const Insn *i) {
  if (!store_rows(w, i)) store(w, i, 4, true);
}

/* The same by way of a register for the address, which nothing else reads. */
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
  plain.exec = ptx_st_word; /* what exact.c knows a store by */
  store(w, &plain, 4, true);
}

/* Whether a lane would store what memory already holds: said of write-after-write hazards. A copy
 * has no register to compare (width 0). */
bool stores_same(const Warp *w, const Insn *i, u32 lane, const u8 *memory) {
  if (!i->width) return false;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    u64 x = register_lane(w, ref, i->width, lane);
    if (memcmp(memory + k * i->size, &x, i->size)) return false;
  }
  return true;
}
bool lanes_store_same(const Warp *w, const Insn *i, u32 a, u32 b) {
  u8 bytes[64] = {0};
  if (!i->width) return false;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    u64 x = register_lane(w, ref, i->width, b);
    memcpy(bytes + k * i->size, &x, i->size);
  }
  return stores_same(w, i, a, bytes);
}

/* Parameters of device functions lie in each lane's own area at fixed places. */
void ptx_ld_param(Warp *w, const Insn *i) {
  u32 base = w->frame[w->top].params + (u32)i->imm;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    for (u32 l = 0; l < LANES; l++) {
      if (!w->lane[l]) continue;
      u64 x = fetch(w->params + (size_t)l * w->params_room + base + k * i->size, i->size, i->flag & SIGN);
      set_register_lane(w, ref, i->width, l, x);
    }
  }
}
void ptx_st_param(Warp *w, const Insn *i) {
  u32 base = w->frame[w->top].params + (u32)i->imm;
  for (u32 k = 0; k < i->count; k++) {
    u32 ref = result_operand(i, k);
    for (u32 l = 0; l < LANES; l++) {
      if (!w->lane[l]) continue;
      u64 x = register_lane(w, ref, i->width, l);
      keep(w->params + (size_t)l * w->params_room + base + k * i->size, x, i->size);
    }
  }
}
