/* Values that are undefined: registers and memory that were never given one (see shadow.py). A shadow
 * register has 1 in the lanes where its register is defined as a whole; those of a new frame are 0. Where
 * masks may be merged, it also has the defined bits of every other lane.
 *
 * The decoder puts the instructions ptx_shadow_* among the program's. They take no step, and apply the
 * guard of the instruction that they accompany. Of those before ptx_shadow_bits, imm: that guard's
 * operand + 1, or 0; << 32: 1 where it is negated. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "machine/params.h"
#include "machine/proof.h"
#include "watch/findings.h"
#include "watch/shadow.h"

#define ALL_BITS (~0ull)
enum { BYTE = 8, MOST_ORIGINS = 256, FROM_MEMORY = 1u << 31, OF_LIBRARY = 1u << 30, HANDED = 1u << 29 };

/* Of a warp's local memory. By byte: the lanes in which it is defined as a whole. By byte and lane, from
 * the first byte on that is defined in part: its defined bits. By byte, from the first value on that
 * comes from shared or global memory, or another function: its origin. */
typedef struct { u32 *lanes; u8 *have; u32 *origin, room; } Defined;

/* The last undefined read of a load, or of an element of a vector load, from shared or global memory. */
typedef struct { s64 element; u32 pc, space, buffer, size, offset[LANES]; } Origin;

/* Of a block. By byte of shared memory and of each global buffer: its undefined bits, where the granule
 * as a whole counts as written; NULL while there are none. */
typedef struct {
  Defined *warp;
  Origin *origin; u32 origins;
  u8 *shared, **global;
  u32 buffers;                  /* how many `global` has room for */
  bool any;
} Undefined;

static Undefined *undefined_of(const Warp *w) { return w->cta->state[definedness_slot]; }
static Defined *defined_of(const Warp *w) { return undefined_of(w)->warp + w->index; }

static u32 present(const Warp *w, const Insn *i) {
  u32 guard = (u32)i->imm;
  return guard ? w->mask & (*SRC(u32, guard - 1) ^ (i->imm >> 32 ? FULL : 0)) : w->mask;
}

/* A shadow is two words, and where its offset is an odd multiple of 8 also the bits by lane: the lanes,
 * and where the missing value comes from. That is the offset + 1 in local memory of the first such lane,
 * FROM_MEMORY + n for the block's origin n, HANDED for an argument or a result, or 0. With OF_LIBRARY: of
 * a variable that belongs to a library. */
static u64 *bits_of(const Warp *w, u32 ref) {
  return (ref & 3) == 0 && ref & 8 ? (u64 *)(w->bank[0] + ref + 8) : NULL;
}
static u64 have_of(const Warp *w, u32 ref, u32 l) {
  if (*SRC(u32, ref) >> l & 1) return ALL_BITS;
  const u64 *bits = bits_of(w, ref);
  return bits ? bits[l] : 0;
}
static u32 origin(const Warp *w, u32 ref) { return (ref & 3) == 0 ? SRC(u32, ref)[1] : 0; }
static u64 mask_of(u32 bytes) { return bytes >= 8 ? ALL_BITS : (1ull << BYTE * bytes) - 1; }

/* Sets the lanes `m` of the shadow d: `whole` of them are defined, the others have the bits `have`, or
 * none where that is NULL. */
static void set_shadow(Warp *w, u32 ref, u32 m, u32 whole, const u64 *have, u32 from) {
  u32 *d = DST(u32, ref);
  u64 *bits = bits_of(w, ref);
  if (m & ~whole) d[1] = from;
  d[0] = (d[0] & ~m) | (whole & m);
  for (u32 left = bits ? m & ~whole : 0; left; left &= left - 1)
    bits[first_lane(left)] = have ? have[first_lane(left)] : 0;
}

/* The same from all lanes' bits, of a register of `bytes`. */
static void set_bits(Warp *w, u32 ref, u32 m, u64 *have, u32 bytes, u32 from) {
  u32 whole = 0;
  for (u32 l = 0; l < LANES; l++) {
    have[l] &= mask_of(bytes);
    whole |= (u32)(have[l] == mask_of(bytes)) << l;
  }
  set_shadow(w, ref, m, whole, have, from);
}

/* flag: 1 where code of a library that is inlined takes a register of the code around it. */
void ptx_shadow_copy(Warp *w, const Insn *i) {
  u32 from = origin(w, i->a);
  if (!from && i->flag & 1) from = HANDED;
  set_shadow(w, i->d, present(w, i), *SRC(u32, i->a), bits_of(w, i->a), from);
}

/* The lanes in which some bit of the first bytes is defined. */
static u32 touched(const Warp *w, u32 ref, u32 bytes) {
  const u64 *bits = bits_of(w, ref);
  u32 some = *SRC(u32, ref);
  for (u32 l = 0; bits && some != FULL && l < LANES; l++) some |= (u32)((bits[l] & mask_of(bytes)) != 0) << l;
  return some;
}
void ptx_shadow_any(Warp *w, const Insn *i) {
  u32 part[4] = {i->a, i->b, i->c, i->e}, some = 0;
  for (u32 k = 0; k < 4; k++) some |= touched(w, part[k], i->size);
  set_shadow(w, i->d, present(w, i), some, NULL, origin(w, i->a));
}

void ptx_shadow_select(Warp *w, const Insn *i) {
  u32 p = *SRC(u32, i->c), a = *SRC(u32, i->a), b = *SRC(u32, i->b), m = present(w, i);
  u64 have[LANES];
  u32 whole = (a & p) | (b & ~p);
  for (u32 l = 0; m & ~whole && l < LANES; l++) have[l] = have_of(w, p >> l & 1 ? i->a : i->b, l);
  set_shadow(w, i->d, m, whole, have, origin(w, p & ~a ? i->a : i->b));
}

/* The shuffle that follows, applied to the numbers of the lanes, in a register bank of this function. */
void ptx_shadow_shuffle(Warp *w, const Insn *i) {
  enum { OWN = 3 };
  u32 lane[2][LANES];
  u64 have[LANES];
  for (u32 l = 0; l < LANES; l++) lane[0][l] = lane[1][l] = l;
  Insn shuffle = {.a = OWN, .d = sizeof lane[0] | OWN, .b = i->b, .c = i->c, .mode = i->mode};
  u8 *was = w->bank[OWN];
  w->bank[OWN] = (u8 *)lane;
  ptx_shfl_b32(w, &shuffle);
  w->bank[OWN] = was;
  for (u32 l = 0; l < LANES; l++) /* a lane that is not here is watch/barriers.c's matter */
    have[l] = w->mask >> lane[1][l] & 1 ? have_of(w, i->a, lane[1][l]) : ALL_BITS;
  set_bits(w, i->d, present(w, i), have, 4, origin(w, i->a));
}

/* The bits of `count` registers of `width` bytes in one: a, b, c, e. */
void ptx_shadow_pack(Warp *w, const Insn *i) {
  u32 part[4] = {i->a, i->b, i->c, i->e}, from = 0;
  u64 have[LANES], each = mask_of(i->width);
  for (u32 l = 0; l < LANES; l++) {
    have[l] = 0;
    for (u32 k = 0; k < i->count; k++) have[l] |= (have_of(w, part[k], l) & each) << BYTE * i->width * k;
  }
  for (u32 k = 0; k < i->count; k++) from = from ? from : origin(w, part[k]);
  set_bits(w, i->d, w->mask, have, (u32)i->width * i->count, from);
}
/* Part number `size` of a register, of `width` bytes. */
void ptx_shadow_unpack(Warp *w, const Insn *i) {
  u64 have[LANES];
  for (u32 l = 0; l < LANES; l++) have[l] = have_of(w, i->a, l) >> BYTE * i->width * i->size;
  set_bits(w, i->d, w->mask, have, i->width, origin(w, i->a));
}

/* A function of three operands, a bit at a time: a bit is defined when the undefined ones cannot change
 * it. */
static u64 of_table(u32 table, const u64 *x, const u64 *have) {
  u64 zero = 0, one = 0;
  for (u32 k = 0; k < 8; k++) {
    u64 possible = ALL_BITS;
    for (u32 n = 0; n < 3; n++) possible &= (k >> (2 - n) & 1 ? x[n] : ~x[n]) | ~have[n];
    if (table >> k & 1) one |= possible;
    else zero |= possible;
  }
  return ~(one & zero);
}
static u64 extended(u64 have, u32 bits, bool sign) {
  u64 low = bits >= 64 ? ALL_BITS : (1ull << bits) - 1;
  return have & low ? (have & low) | (sign && !(have >> (bits - 1) & 1) ? 0 : ~low)
                    : sign ? 0 : ~low;
}

/* mode: which instruction; width: bytes of a, b and c; flag: the table; size, count: first bit and number
 * of bits, or bytes of the result and whether the sign is extended. e: the shadow of a; imm: those of b
 * and c. */
enum { TABLE_OF_BITS, LEFT, RIGHT, RIGHT_SIGNED, FIELD, FIELD_SIGNED, INSERT, CONVERT };
void ptx_shadow_bits(Warp *w, const Insn *i) {
  u32 shadow[3] = {i->e, (u32)i->imm, (u32)((u64)i->imm >> 32)}, value[3] = {i->a, i->b, i->c};
  u32 whole = *SRC(u32, shadow[0]) & *SRC(u32, shadow[1]) & *SRC(u32, shadow[2]), from = 0;
  u64 result[LANES];
  if (!(w->mask & ~whole)) {
    *DST(u32, i->d) |= w->mask;
    return;
  }
  u32 most = (u32)BYTE * i->width, by = i->size;
  for (u32 l = 0; l < LANES; l++) {
    u64 have[3], x[3], r = ALL_BITS, field = i->count >= 64 ? ALL_BITS : (1ull << i->count) - 1;
    for (u32 n = 0; n < 3; n++) have[n] = have_of(w, shadow[n], l);
    u64 a = have[0] | ~mask_of(i->width);
    switch (i->mode) {
      case TABLE_OF_BITS:
        for (u32 n = 0; n < 3; n++) x[n] = register_lane(w, value[n], i->width, l);
        r = of_table(i->flag, x, have);
        break;
      case LEFT: r = by >= most ? ALL_BITS : a << by | ((1ull << by) - 1); break;
      case RIGHT: r = by >= most ? ALL_BITS : extended(a >> by, most - by, false); break;
      case RIGHT_SIGNED: r = extended(a >> (by < most ? by : most - 1), by < most ? most - by : 1, true); break;
      case FIELD: r = by >= most ? ALL_BITS : (a >> by) | ~field; break;
      case FIELD_SIGNED: r = by >= most || !i->count ? a : extended(a >> by, i->count, true); break;
      case INSERT: r = by >= most ? have[1] : (have[1] & ~(field << by)) | (a & field) << by; break;
      case CONVERT: r = extended(a, most, i->count); break;
    }
    result[l] = r;
  }
  for (u32 n = 0; n < 3 && !from; n++) from = w->mask & ~*SRC(u32, shadow[n]) ? origin(w, shadow[n]) : 0;
  set_bits(w, i->d, w->mask, result, i->mode == CONVERT ? by : i->width, from);
}

static void *grown_to(const void *old, size_t had, size_t want) {
  u8 *more = calloc(want, 1);
  if (more && old) memcpy(more, old, had);
  free((void *)old);
  return more;
}

static bool room_for(Warp *w, u32 bytes) {
  Defined *d = defined_of(w);
  if (bytes <= d->room) return true;
  d->lanes = grown_to(d->lanes, d->room * sizeof(u32), bytes * sizeof(u32));
  if (d->have) d->have = grown_to(d->have, (size_t)d->room * LANES, (size_t)bytes * LANES);
  if (d->origin) d->origin = grown_to(d->origin, d->room * sizeof(u32), bytes * sizeof(u32));
  d->room = bytes;
  if (!d->lanes) {
    d->room = 0;
    out_of_memory(w->worker);
  }
  return d->lanes;
}

static void make(Cta *c) {
  Undefined *u = c->state[definedness_slot] = calloc(1, sizeof *u);
  if (u) u->warp = calloc(c->warps, sizeof(Defined));
  if (!u || !u->warp) out_of_memory(c->worker);
}

static void forget(Cta *c) {
  Undefined *u = c->state[definedness_slot];
  if (!u || !u->any) return;
  free(u->shared);
  for (u32 b = 0; b < u->buffers; b++) free(u->global[b]);
  free(u->global);
  u->shared = NULL;
  u->global = NULL;
  u->buffers = 0;
  u->any = false;
}

static void discard(Cta *c) {
  Undefined *u = c->state[definedness_slot];
  if (!u) return;
  for (u32 k = 0; u->warp && k < c->warps; k++) {
    free(u->warp[k].lanes);
    free(u->warp[k].have);
    free(u->warp[k].origin);
  }
  forget(c);
  free(u->warp);
  free(u->origin);
  free(u);
}

/* The stack frame of a call holds no values. */
static void push_frame(Warp *w, u32 local, u32 bytes, u32 lanes) {
  Defined *d = defined_of(w);
  for (u32 at = local; at < local + bytes && at < d->room; at++) {
    d->lanes[at] &= ~lanes;
    for (u32 m = d->have ? lanes : 0; m; m &= m - 1) d->have[at * LANES + first_lane(m)] = 0;
    if (d->origin) d->origin[at] = 0;
  }
}

/* Where the lanes access their stacks: at one offset that all of them share, or each at its own. Lanes
 * that access other memory, or out of bounds, are not in `lanes`. */
typedef struct { u32 lanes, at[LANES]; bool same; } Places;

static bool one_address(const Warp *w, const Insn *i, u32 first) {
  if (i->flag & 1) return true; /* the decoder has found it so */
  u64 differ = 0;
  if (i->mode == 4) {
    const u32 *p = SRC(u32, i->a), it = p[first];
    EACH_LANE { differ |= w->lane[l] & (p[l] ^ it); }
  } else {
    const u64 *p = SRC(u64, i->a), it = p[first];
    EACH_LANE { differ |= (u64)(s64)(s32)w->lane[l] & (without_owner(p[l]) ^ without_owner(it)); }
  }
  return !differ;
}

static Places places_of(const Warp *w, const Insn *i) {
  u32 first = (u32)__builtin_ctz(w->mask);
  Region r = region_of(w, LOCAL, 0);
  u64 base = (i->space == LOCAL ? 0 : LOCAL_BASE) + LOCAL_START, most = r.size - i->size;
  Places found = {.lanes = 0, .same = one_address(w, i, first)};
  if (r.size < i->size) return found;
  for (u32 m = found.same ? 1u << first : w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    u64 at = without_owner(lane_address(w, i, l)) - base;
    if (at > most) continue;
    found.at[l] = (u32)at;
    found.lanes |= 1u << l;
  }
  if (found.same && found.lanes) {
    found.at[0] = found.at[first];
    found.lanes = w->mask;
  }
  return found;
}

/* Before a store to local memory: d: the shadow of what it stores; flag: 8 in a library. Also where a variable's block
 * begins. */
void ptx_shadow_store(Warp *w, const Insn *i) {
  Places p = places_of(w, i);
  u32 given = *SRC(u32, i->d), from = origin(w, i->d), missing = p.lanes & ~given;
  Defined *d = defined_of(w);
  if (!p.lanes || !room_for(w, (u32)region_of(w, LOCAL, 0).size)) return;
  bool parts = bits_of(w, i->d) && missing;
  if (parts && !d->have && !(d->have = calloc(d->room, LANES))) out_of_memory(w->worker);
  bool handed = i->flag & 8 && from && !(from & OF_LIBRARY); /* to a library: not this place's */
  bool keeps = from & FROM_MEMORY || handed;
  if (keeps && missing && !d->origin && !(d->origin = calloc(d->room, sizeof(u32))))
    out_of_memory(w->worker);
  if (w->worker->no_memory) return;
  u32 kept = keeps ? from : 0;
  if (p.same) {
    u32 *byte = d->lanes + p.at[0];
    for (u32 k = 0; k < i->size; k++) byte[k] = (byte[k] & ~p.lanes) | (given & p.lanes);
    for (u32 k = 0; k < (d->origin && missing && !parts ? i->size : 0); k++) d->origin[p.at[0] + k] = kept;
    if (!d->have && (!d->origin || !parts)) return;
  }
  /* Of a byte that is defined as a whole, no bits and no origin are read. */
  for (u32 m = p.same ? 0 : p.lanes & given; m; m &= m - 1)
    for (u32 k = 0; k < i->size; k++) d->lanes[p.at[first_lane(m)] + k] |= m & -m;
  for (u32 m = missing; m; m &= m - 1) {
    u32 l = first_lane(m), bit = m & -m, at = p.at[p.same ? 0 : l];
    u64 have = have_of(w, i->d, l);
    for (u32 k = 0; k < i->size; k++, have >>= BYTE) {
      d->lanes[at + k] = (d->lanes[at + k] & ~bit) | ((have & 255) == 255 ? bit : 0);
      if (d->have) d->have[(at + k) * LANES + l] = (u8)have;
      if (d->origin && (have & 255) != 255) d->origin[at + k] = kept;
    }
  }
}

/* Whether the bytes at an offset are defined as a whole in all of these lanes. */
static bool defined_at(const Defined *d, u32 at, u32 bytes, u32 lanes) {
  u32 whole = FULL;
  if (at + bytes > d->room) return false;
  for (u32 k = 0; k < bytes; k++) whole &= d->lanes[at + k];
  return !(lanes & ~whole);
}

/* The defined bits of what a lane loads from its stack. */
static u64 local_bits(const Defined *d, u32 at, u32 bytes, u32 l, u32 *from) {
  u64 have = 0;
  for (u32 k = 0; k < bytes; k++) {
    u64 byte = at + k >= d->room ? 0 : d->lanes[at + k] >> l & 1 ? 255 : d->have ? d->have[(at + k) * LANES + l] : 0;
    have |= byte << BYTE * k;
    if (byte != 255 && !*from) *from = d->origin && at + k < d->room && d->origin[at + k] ? d->origin[at + k] : at + k + 1;
  }
  return have;
}

/* Where a lane's access that is not to its stack goes to; false: to no shared or global memory. */
static bool memory_at(const Warp *w, const Insn *i, u32 l, Region *r, u32 *offset) {
  u64 at = lane_address(w, i, l);
  if (i->space == LOCAL || (i->space != SHARED && is_local(at))) return false;
  *r = region_of(w, i->space, at);
  if ((r->space != SHARED && r->space != GLOBAL) || r->size < i->size || at - r->base > r->size - i->size)
    return false;
  *offset = (u32)(at - r->base);
  return true;
}

static u8 *missing_in(const Warp *w, const Region *r) {
  const Undefined *u = undefined_of(w);
  u32 number = r->space == SHARED ? 0 : (u32)(r->buffer - w->launch->buffer);
  return r->space == SHARED ? u->shared : number < u->buffers ? u->global[number] : NULL;
}
static bool unwritten(const Warp *w, const Region *r, u32 at) {
  const Launch *n = w->launch;
  return r->space == SHARED ? shadow_of(w->cta)->wrote[at >> n->shared_shift] == 0
                            : r->buffer->hot[at >> n->global_shift] == HOT_UNINIT;
}
static bool has_unwritten(const Warp *w, const Region *r, u32 offset, u32 bytes) {
  bool any = false;
  for (u32 k = 0; k < bytes; k++) any |= unwritten(w, r, offset + k);
  return any;
}
static u64 memory_bits(const Warp *w, const Region *r, u32 offset, u32 bytes, bool written) {
  u64 have = 0;
  const u8 *missing = missing_in(w, r);
  for (u32 k = 0; k < bytes; k++)
    if (written || !unwritten(w, r, offset + k)) have |= (u64)(u8)(missing ? ~missing[offset + k] : 255) << BYTE * k;
  return have;
}

/* The block's record of a load; 0 when there are too many. */
static u32 origin_at(Warp *w, const Insn *i) {
  Undefined *u = undefined_of(w);
  u32 k = 0;
  if (!u->origin && !(u->origin = calloc(MOST_ORIGINS, sizeof(Origin)))) {
    out_of_memory(w->worker);
    return 0;
  }
  while (k < u->origins && (u->origin[k].pc != i->pc || u->origin[k].element != i->imm)) k++;
  if (k == MOST_ORIGINS) return 0;
  if (k == u->origins) u->origin[u->origins++] = (Origin){.pc = i->pc, .element = i->imm};
  return FROM_MEMORY | k;
}
static void note_origin(Warp *w, const Insn *i, u32 l, const Region *r, u32 offset, u32 *from) {
  if (!*from) *from = origin_at(w, i);
  if (!(*from & FROM_MEMORY)) return;
  Origin *o = &undefined_of(w)->origin[*from & ~FROM_MEMORY];
  o->space = r->space;
  o->buffer = r->buffer ? (u32)(r->buffer - w->launch->buffer) : 0;
  o->size = i->size;
  o->offset[l] = offset;
}

/* Whether a place in local memory belongs to a library's code: the instruction's own, or, further up, the
 * code that called on the way to it; but for a scalar of the function that either is inlined in. */
static bool is_of_library(const Warp *w, const Insn *i, u32 at, u32 number) {
  const Frame *f = &w->frame[w->top];
  bool library = i->flag & 8;
  for (; at < f->local && f->parent != NO_FRAME; f = &w->frame[f->parent])
    library = w->launch->call[f->call].library;
  const LocalVariable *v = number ? numbered(w->launch, &w->launch->function[f->function], number) : NULL;
  return library && !(v && v->own);
}

static u32 number_of(const Warp *w, const Insn *i, u32 l) { return i->mode == 8 ? variable_of(SRC(u64, i->a)[l]) : 0; }

/* Reports the read of shared or global memory that a missing value comes from. */
static void report_origin(Warp *w, u32 from, u32 missing) {
  const Origin *o = &undefined_of(w)->origin[from & ~FROM_MEMORY];
  for (; missing; missing &= missing - 1) {
    u32 l = first_lane(missing), granule = o->offset[l] >> w->launch->shared_shift;
    if (o->space == SHARED) log_uninit(w->cta, granule, thread_of(w, l), o->pc);
    report(w->worker, (Report){.kind = UNINIT, .pc = o->pc, .space = o->space, .buffer = o->buffer,
                               .block = w->cta->number, .thread = thread_of(w, l), .size = o->size,
                               .address = o->offset[l], .count = 1});
  }
}

/* Before a load: d: the shadow of the register that it loads; flag: 1 where all lanes share an address, 2 where
 * shared and global memory are looked at too, 4 where another watcher has found it written, 8 in a library, 16
 * where no bytes may have been written when others never were. */
void ptx_shadow_load(Warp *w, const Insn *i) {
  Places p = places_of(w, i);
  const Defined *d = defined_of(w);
  u32 from = 0, in_part = 0;
  u64 have[LANES];
  if (!p.lanes && i->flag & 4 && !undefined_of(w)->any) {
    *DST(u32, i->d) |= w->mask;
    return;
  }
  if (p.same && p.lanes && defined_at(d, p.at[0], i->size, p.lanes)) {
    *DST(u32, i->d) |= w->mask;
    return;
  }
  for (u32 l = 0; l < LANES; l++) {
    Region r;
    u32 offset;
    have[l] = ALL_BITS;
    if (p.lanes >> l & 1) {
      u32 at = p.at[p.same ? 0 : l];
      if (defined_at(d, at, i->size, 1u << l)) continue;
      have[l] = local_bits(d, at, i->size, l, &from);
      if (from - 1 - at < i->size && is_of_library(w, i, at, number_of(w, i, l))) from |= OF_LIBRARY;
    } else if (i->flag & 2 && w->lane[l] && memory_at(w, i, l, &r, &offset)) {
      have[l] = memory_bits(w, &r, offset, i->size, i->flag & 4);
      if (have[l] != mask_of(i->size)) note_origin(w, i, l, &r, offset, &from);
      if (i->flag & 16 && have[l] && has_unwritten(w, &r, offset, i->size)) in_part |= 1u << l;
    }
  }
  if (from & FROM_MEMORY) report_origin(w, from, in_part);
  for (u32 l = 0; l < LANES; l++) have[l] |= in_part >> l & 1 ? ALL_BITS : ~mask_of(i->size); /* the extension of a short value */
  set_bits(w, i->d, w->mask, have, i->width, from);
}

static u8 *missing_for(Warp *w, const Region *r) {
  Undefined *u = undefined_of(w);
  u32 number = r->space == SHARED ? 0 : (u32)(r->buffer - w->launch->buffer);
  if (r->space == GLOBAL && number >= u->buffers) {
    u->global = grown_to(u->global, u->buffers * sizeof(u8 *), (number + 1) * sizeof(u8 *));
    u->buffers = u->global ? number + 1 : 0;
  }
  u8 **at = r->space == SHARED ? &u->shared : u->global ? &u->global[number] : NULL;
  if (at && !*at) *at = calloc(r->size + 1, 1);
  if (!at || !*at) out_of_memory(w->worker);
  u->any = true;
  return at ? *at : NULL;
}

/* Marks what a lane has stored: a granule of which nothing is defined counts as never written. */
static void mark_stored(Warp *w, const Region *r, u32 offset, u32 bytes, u64 have) {
  const Launch *n = w->launch;
  u32 shift = r->space == SHARED ? n->shared_shift : n->global_shift, each = 1u << shift;
  u8 *missing = missing_in(w, r);
  for (u32 k = 0; k < bytes; k += each) {
    u32 run = bytes - k < each ? bytes - k : each;
    u64 mine = have >> BYTE * k & mask_of(run);
    if (mine != mask_of(run) && mine != 0 && !missing && !(missing = missing_for(w, r))) return;
    for (u32 x = 0; missing && x < run; x++) missing[offset + k + x] = mine ? (u8)~(mine >> BYTE * x) : 0;
    if (mine || run < each) continue;
    if (r->space == SHARED) shadow_of(w->cta)->wrote[(offset + k) >> shift] = 0;
    else r->buffer->hot[(offset + k) >> shift] = HOT_UNINIT;
  }
}

/* After a store to shared or global memory: d: the shadow of what it stored. */
void ptx_shadow_stored(Warp *w, const Insn *i) {
  if (w->cta->representative && w->mask & ~*SRC(u32, i->d)) disprove(w->worker);
  u32 left = undefined_of(w)->any ? w->mask : w->mask & ~*SRC(u32, i->d);
  for (; left; left &= left - 1) {
    Region r;
    u32 offset, l = first_lane(left);
    if (memory_at(w, i, l, &r, &offset)) mark_stored(w, &r, offset, i->size, have_of(w, i->d, l));
  }
}

/* An argument or a result, whose undefined bits are at imm in the parameter area, and OF_LIBRARY or 0 at b.
 * d: its shadow; flag: 4 where its register is a variable of a library. */
void ptx_shadow_give(Warp *w, const Insn *i) {
  u32 at = w->frame[w->top].params + (u32)i->imm, missing = w->mask & ~*SRC(u32, i->d);
  u32 from = origin(w, i->d), whose = w->frame[w->top].params + i->b;
  for (u32 m = missing; m; m &= m - 1)
    put_param(w, first_lane(m), whose, from ? from & OF_LIBRARY : i->flag & 4 ? OF_LIBRARY : 0, PARAM_WORD);
  if (!missing && at % PARAM_WORD == 0 && i->size % PARAM_WORD == 0) {
    for (u32 k = 0; k < i->size; k += PARAM_WORD) {
      u32 *p = param_words(w, at + k);
      EACH_LANE { p[l] &= ~w->lane[l]; }
    }
    return;
  }
  for (u32 m = w->mask; m; m &= m - 1)
    put_param(w, first_lane(m), at, ~have_of(w, i->d, first_lane(m)), i->size);
}
void ptx_shadow_take(Warp *w, const Insn *i) {
  u32 at = w->frame[w->top].params + (u32)i->imm;
  u32 from = 0, whose = w->frame[w->top].params + i->b;
  u64 have[LANES] = {0};
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    have[l] = ~get_param(w, l, at, i->size) | ~mask_of(i->size);
    if (!from && have[l] != ALL_BITS) from = HANDED | (u32)get_param(w, l, whose, PARAM_WORD);
  }
  set_bits(w, i->d, w->mask, have, i->width, from);
}

/* Adds the function whose stack frame holds an offset: its number + 1 as `extra`, and the address. */
static void add_place(const Warp *w, u32 at, Report *r) {
  for (const Frame *f = &w->frame[w->top];; f = &w->frame[f->parent]) {
    if (at >= f->local) {
      r->extra = f->function + 1;
      r->address = at - f->local;
      return;
    }
    if (f->parent == NO_FRAME) return;
  }
}

/* Whether the code is a library's, or was called by one: libraries compute with elements that they do
 * not use afterwards. */
static bool in_library(const Warp *w, const Insn *i) {
  if (i->flag & 1) return true;
  for (const Frame *f = &w->frame[w->top]; f->parent != NO_FRAME; f = &w->frame[f->parent])
    if (w->launch->call[f->call].library) return true;
  return false;
}

/* Before a use. a: the shadow; b: the number of the use; c: a store's address when mode; flag: 1 in library
 * code, 2 where `size` bytes are only copied, and may be defined in part, 4 where the register is a variable of
 * a library. A store to the thread's own local memory is no use. */
void ptx_shadow_check(Warp *w, const Insn *i) {
  u32 missing = present(w, i) & ~*SRC(u32, i->a), from = origin(w, i->a);
  if (missing && i->flag & 2) missing &= ~touched(w, i->a, i->size);
  if (!missing) return;
  for (u32 m = i->mode ? missing : 0; m; m &= m - 1)
    if (is_local(SRC(u64, i->c)[first_lane(m)])) missing &= ~(m & -m);
  if (!missing) return;
  *DST(u32, i->a) |= missing;
  if (from & FROM_MEMORY) {
    if (!in_library(w, i)) report_origin(w, from, missing);
    return;
  }
  Report r = {.kind = UNDEFINED, .pc = i->pc, .buffer = i->b, .block = w->cta->number,
              .thread = thread_of(w, first_lane(missing)), .count = (u64)__builtin_popcount(missing)};
  bool in_place = from && !(from & HANDED);
  if (in_place) add_place(w, (from & ~OF_LIBRARY) - 1, &r);
  bool own = from & OF_LIBRARY || (!from && i->flag & 4);
  if ((in_place || own) && in_library(w, i)) r.flags = IN_LIBRARY;
  if (!own || !(r.flags & IN_LIBRARY)) report(w->worker, r);
}

const Watcher definedness_watcher = {
    .blocks = FULL_BLOCKS, .block_created = make, .block_started = forget, .block_destroyed = discard,
    .frame_pushed = push_frame};
