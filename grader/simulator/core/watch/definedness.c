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
#include "machine/params.h"
#include "watch/definedness.h"

static Defined *defined_of(const Warp *w) { return undefined_of(w)->warp + w->index; }

static u32 present(const Warp *w, const Insn *i) {
  u32 guard = (u32)i->imm;
  return guard ? w->mask & (*SRC(u32, guard - 1) ^ (i->imm >> 32 ? FULL : 0)) : w->mask;
}

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

u32 touched(const Warp *w, u32 ref, u32 bytes) {
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

/* The bytes that a permutation selects; none where a bit of its selector is undefined. */
static u64 of_bytes(const u64 *have, u32 selector, u32 mode) {
  u32 bytes = prmt((u32)have[0], (u32)have[1], selector, mode), known = 0;
  for (u32 k = 0; k < 4; k++) {
    u64 selects = mode == P_NONE ? 15ull << 4 * k : 3;
    if (!(selects & ~have[2])) known |= 255u << BYTE * k;
  }
  return bytes & known;
}

/* mode: which instruction; width: bytes of a, b and c; flag: the table, or the mode of a permutation; size, count:
 * first bit and number of bits, or bytes of the result and whether the sign is extended; of a shift, flag: 1 where b is the
 * number of bits. e: the shadow of a; imm: those of b and c. */
enum { TABLE_OF_BITS, LEFT, RIGHT, RIGHT_SIGNED, FIELD, FIELD_SIGNED, INSERT, CONVERT, PERMUTE };
void ptx_shadow_bits(Warp *w, const Insn *i) {
  u32 shadow[3] = {i->e, (u32)i->imm, (u32)((u64)i->imm >> 32)}, value[3] = {i->a, i->b, i->c};
  u32 whole = *SRC(u32, shadow[0]) & *SRC(u32, shadow[1]) & *SRC(u32, shadow[2]), from = 0;
  u64 result[LANES];
  if (!(w->mask & ~whole)) {
    *DST(u32, i->d) |= w->mask;
    return;
  }
  u32 most = (u32)BYTE * i->width, by = i->size;
  bool shifts = i->mode == LEFT || i->mode == RIGHT || i->mode == RIGHT_SIGNED;
  for (u32 l = 0; l < LANES; l++) {
    if (shifts && i->flag) by = (u32)register_lane(w, value[1], 4, l);
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
      case PERMUTE: r = of_bytes(have, (u32)register_lane(w, value[2], 4, l), i->flag); break;
      case CONVERT: r = extended(a, most, i->count); break;
    }
    result[l] = r;
  }
  for (u32 n = 0; n < 3 && !from; n++) from = w->mask & ~*SRC(u32, shadow[n]) ? origin(w, shadow[n]) : 0;
  if (i->mode == PERMUTE) from = selected_from(w, from);
  set_bits(w, i->d, w->mask, result, i->mode == CONVERT ? by : i->width, from);
}

void *grown_to(const void *old, size_t had, size_t want) {
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
  if (u) forget_unset(u, c->worker->launch);
}

static void discard(Cta *c) {
  Undefined *u = c->state[definedness_slot];
  if (!u) return;
  for (u32 k = 0; u->warp && k < c->warps; k++) {
    free(u->warp[k].lanes);
    free(u->warp[k].have);
    free(u->warp[k].origin);
  }
  discard_unset(u);
  free(u->warp);
  free(u->origin);
  free(u->copy);
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
  if (from & HANDED && from & GIVEN && (handed || p.at[0] < w->frame[w->top].local)) from = FROM_MEMORY | ((from & GIVEN) - 1);
  bool keeps = handed || from & FROM_MEMORY || (from & OF_ELEMENT && in_place(from));
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

/* What a library's code adds to the origin of what it reads at a place in local memory. The place is a library's: the
 * instruction's own, or, further up, that of the code that called on the way to it; but for variables of the function
 * that either is inlined in. */
static u32 owner_at(const Warp *w, const Insn *i, u32 at, u32 number) {
  const Frame *f = &w->frame[w->top];
  bool library = i->flag & 8;
  for (; at < f->local && f->parent != NO_FRAME; f = &w->frame[f->parent])
    library = w->launch->call[f->call].library;
  const LocalVariable *v = number ? numbered(w->launch, &w->launch->function[f->function], number) : NULL;
  u32 own = v ? v->own : 0;
  return !library || own == OWN_SCALAR ? 0 : own == OWN_AGGREGATE ? OF_LIBRARY | OF_ELEMENT : OF_LIBRARY;
}

static u32 number_of(const Warp *w, const Insn *i, u32 l) { return i->mode == 8 ? variable_of(SRC(u64, i->a)[l]) : 0; }

/* Before a load: d: the shadow of the register that it loads; flag: 1 where all lanes share an address, 2 where
 * shared and global memory are looked at too, 4 where another watcher has found it written, 8 in a library, 16
 * where no bytes may have been written when others never were, 32 before an atomic: b and e are those of its own. */
void ptx_shadow_load(Warp *w, const Insn *i) {
  Places p = places_of(w, i);
  const Defined *d = defined_of(w);
  u32 from = 0, read = 0, unread = 0;
  u64 have[LANES];
  Undefined *u = undefined_of(w);
  if (i->flag & 4) u->copies = i->pc + 1;
  if (!p.lanes && i->flag & 4 && !u->any && !u->kept) {
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
      if (i->mode == 8 && leaves_variable(w, lane_address(w, i, l), i->size)) continue; /* which is reported itself */
      have[l] = local_bits(d, at, i->size, l, &from);
      if (from - 1 - at < i->size) from |= owner_at(w, i, at, number_of(w, i, l));
    } else if (i->flag & 2 && w->lane[l] && memory_at(w, i, l, &r, &offset)) {
      if (i->flag & 32 && !replaces_value(w, i, l)) continue; /* the atomic itself is a use */
      have[l] = memory_bits(w, &r, offset, i->size, i->flag & 4);
      if (have[l] == mask_of(i->size)) continue;
      u32 kept = kept_at(w, &r, offset, have[l] | ~mask_of(i->size));
      bool whole = i->flag & 16 && have[l] && has_unwritten(w, &r, offset, i->size);
      if (kept) from = from ? from : kept;
      else if (whole) note_origin(w, i, l, &r, offset, &unread);
      else note_origin(w, i, l, &r, offset + (u32)__builtin_ctzll(~have[l]) / BYTE, &from);
      read |= (u32)(whole && !kept) << l;
    }
  }
  if (unread) report_origin(w, unread, read);
  /* The extension of a short value is defined. */
  for (u32 l = 0; l < LANES; l++) have[l] |= read >> l & 1 ? ALL_BITS : ~mask_of(i->size);
  set_bits(w, i->d, w->mask, have, i->width, from);
}

/* An argument or a result, whose undefined bits are at imm in the parameter area, and its origin at b.
 * d: its shadow; flag: 1 where it is a part of an object, 4 where its register is a variable of a library. */
void ptx_shadow_give(Warp *w, const Insn *i) {
  u32 at = w->frame[w->top].params + (u32)i->imm, missing = w->mask & ~*SRC(u32, i->d);
  u32 from = origin(w, i->d), whose = w->frame[w->top].params + i->b;
  u32 given = from & (FROM_MEMORY | OF_ELEMENT) ? from : from ? from & OF_LIBRARY : i->flag & 4 ? OF_LIBRARY : 0;
  if (missing && from & HANDED && !(from & OF_ELEMENT)) given |= from & GIVEN;
  else if (missing && in_place(from) && !given && (from = left_by(w, i, from, missing))) given = (from & GIVEN) + 1;
  for (u32 m = missing; m; m &= m - 1) put_param(w, first_lane(m), whose, given, PARAM_WORD);
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
  u32 from = 0, whose = w->frame[w->top].params + i->b, missing = at % PARAM_WORD || i->size % PARAM_WORD;
  u64 have[LANES] = {0};
  for (u32 k = 0; !missing && k < i->size; k += PARAM_WORD) {
    const u32 *p = param_words(w, at + k);
    EACH_LANE { missing |= p[l] & w->lane[l]; }
  }
  if (!missing) {
    *DST(u32, i->d) |= w->mask;
    return;
  }
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    have[l] = ~get_param(w, l, at, i->size) | ~mask_of(i->size);
    if (from || have[l] == ALL_BITS) continue;
    from = (u32)get_param(w, l, whose, PARAM_WORD);
    from |= from & (FROM_MEMORY | OF_ELEMENT) ? 0 : i->flag & 1 ? HANDED | OF_ELEMENT : HANDED;
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
bool in_library(const Warp *w, const Insn *i) {
  if (i->flag & 1) return true;
  for (const Frame *f = &w->frame[w->top]; f->parent != NO_FRAME; f = &w->frame[f->parent])
    if (w->launch->call[f->call].library) return true;
  return false;
}

/* In the flag of ptx_shadow_compute where it reports a use: it gives the value to no register. */
enum { COMPUTES = 16 };

/* Of a use by an instruction that is not FROM_MEMORY: b: the number of the register; flag: as in ptx_shadow_check. */
Report report_of(const Warp *w, const Insn *i, u32 from, u32 missing) {
  Report r = {.kind = UNDEFINED, .pc = i->pc, .buffer = i->b, .block = w->cta->number,
              .thread = thread_of(w, first_lane(missing)), .count = (u64)__builtin_popcount(missing)};
  if (in_place(from)) add_place(w, (from & ~(u32)(OF_LIBRARY | OF_ELEMENT)) - 1, &r);
  if ((in_place(from) || from & OF_LIBRARY || (!from && i->flag & 4)) && in_library(w, i)) r.flags = IN_LIBRARY;
  if (i->flag & COMPUTES) r.flags |= COMPUTED;
  return r;
}

/* Reports a use, unless a library's code makes it that may ignore the result; `always`: it may not. */
static void report_use(Warp *w, const Insn *i, u32 from, u32 missing, bool always) {
  if (from & FROM_MEMORY) {
    if (!in_library(w, i) || (always && was_left(w, from))) report_origin(w, from, missing);
    return;
  }
  Report r = report_of(w, i, from, missing);
  bool own = from & OF_LIBRARY || (!from && i->flag & 4);
  if (always && from & OF_ELEMENT) r.flags = own = 0;
  if (!own || !(r.flags & IN_LIBRARY)) report(w->worker, r);
}

/* Gives the undefined bits of a register in some lanes the value of a run that shows whether it matters; another than those
 * of the other registers that the instruction uses. */
static void give_value(Warp *w, const Insn *i, u32 lanes) {
  for (; lanes; lanes &= lanes - 1) {
    u32 l = first_lane(lanes);
    u64 x = given_value(w->launch, l + 5 * i->pc + 31 * i->b), have = have_of(w, i->a, l);
    if (i->width) set_register_lane(w, i->d, i->width, l, (register_lane(w, i->d, i->width, l) & have) | (x & ~have));
    else *DST(u32, i->d) = (*DST(u32, i->d) & ~(1u << l)) | (u32)(x & 1) << l;
  }
}

/* Before a use. a: the shadow; d: its register, of `width` bytes, where count is 1; b: the number of the use; c: a store's address when mode; flag: 1 in library
 * code, 2 where `size` bytes are only copied, and may be defined in part, 4 where the register is a variable of
 * a library, 8 where it is an address. A store to the thread's own local memory is no use. */
void ptx_shadow_check(Warp *w, const Insn *i) {
  u32 missing = present(w, i) & ~*SRC(u32, i->a), from = origin(w, i->a);
  if (missing && i->flag & 2) missing &= ~touched(w, i->a, i->size);
  if (!missing) return;
  for (u32 m = i->mode ? missing : 0; m; m &= m - 1)
    if (is_local(SRC(u64, i->c)[first_lane(m)])) missing &= ~(m & -m);
  if (!missing) return;
  if (w->launch->unset && i->count) give_value(w, i, missing);
  *DST(u32, i->a) |= missing;
  report_use(w, i, from, missing, i->flag & 8);
}

/* The result of an instruction that computes, which is undefined where an operand is. That is no use of an element or
 * member, which may have no value where the result is not used either. a, b, c, e: the operands' shadows; size: the
 * number of a register among them; count: 1 where it is computed of all lanes' operands; flag: as in
 * ptx_shadow_check. */
void ptx_shadow_compute(Warp *w, const Insn *i) {
  u32 part[4] = {i->a, i->b, i->c, i->e}, whole = FULL, from = 0, m = present(w, i);
  for (u32 k = 0; k < 4; k++) whole &= *SRC(u32, part[k]);
  u32 missing = m & ~whole;
  if (!missing) {
    *DST(u32, i->d) |= m;
    return;
  }
  if (i->count) whole &= ~(missing = m);
  for (u32 k = 0; k < 4 && !from; k++) from = missing & ~*SRC(u32, part[k]) ? origin(w, part[k]) : 0;
  if (!(from & FROM_MEMORY)) {
    Insn use = *i;
    use.b = i->size;
    bool library = in_library(w, i), own = from & OF_LIBRARY || (!from && i->flag & 4);
    if (library ? !own && !(from & OF_ELEMENT) : !in_place(from)) {
      use.flag |= COMPUTES;
      report_use(w, &use, from, missing, false);
      whole |= missing;
    } else if (!library || from & OF_ELEMENT) {
      from = left_by(w, &use, from, missing);
    }
  }
  set_shadow(w, i->d, m, whole, NULL, from);
}

const Watcher definedness_watcher = {
    .blocks = FULL_BLOCKS, .block_created = make, .block_started = forget, .block_ended = report_bits_left,
    .block_destroyed = discard,
    .frame_pushed = push_frame, .write = clear_written, .write_rows = clear_rows, .updated = clear_updated,
    .atomic_part = clear_part, .copied_out = clear_copied_out, .copy_read = note_unset_copy,
    .copy_started = place_unset_copy, .copy_completed = finish_unset_copy};
