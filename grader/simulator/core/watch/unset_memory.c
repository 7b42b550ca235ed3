/* Shared and global memory that holds values which were never set. A store of such a value is no use of it: its
 * place counts as never written, or has undefined bits, and it keeps what would have been reported at the store. That is
 * reported when the value is used: computed with, compared, an address, or left in an output that the host reads. Bits
 * that a store leaves undefined in numbers of an output may be set until the block ends, and are reported then. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "machine/proof.h"
#include "machine/rows.h"
#include "watch/definedness.h"

bool memory_at(const Warp *w, const Insn *i, u32 l, Region *r, u32 *offset) {
  u64 at = lane_address(w, i, l);
  if (i->space == LOCAL || (i->space != SHARED && is_local(at))) return false;
  *r = region_of(w, i->space, at);
  if ((r->space != SHARED && r->space != GLOBAL) || r->size < i->size || at - r->base > r->size - i->size)
    return false;
  *offset = (u32)(at - r->base);
  return true;
}

/* In a place's `from`: the origin of undefined bits, for the end of the block alone: a read of them is a use of its own. */
enum { BITS_LEFT = 0x8000 };
static bool keeps(u16 from) { return from && !(from & BITS_LEFT); }

static Unset unset_in(const Undefined *u, const Launch *n, u32 space, const Buffer *b) {
  u32 number = space == SHARED ? 0 : (u32)(b - n->buffer);
  return space == SHARED ? u->shared : number < u->buffers ? u->global[number] : (Unset){0};
}
static Unset unset_at(const Warp *w, const Region *r) {
  return unset_in(undefined_of(w), w->launch, r->space, r->buffer);
}
static bool unwritten(const Warp *w, const Region *r, u32 at) {
  const Launch *n = w->launch;
  return r->space == SHARED ? shadow_of(w->cta)->wrote[at >> n->shared_shift] == 0
                            : r->buffer->hot[at >> n->global_shift] == HOT_UNINIT;
}
bool has_unwritten(const Warp *w, const Region *r, u32 offset, u32 bytes) {
  bool any = false;
  for (u32 k = 0; k < bytes; k++) any |= unwritten(w, r, offset + k);
  return any;
}
u64 memory_bits(const Warp *w, const Region *r, u32 offset, u32 bytes, bool written) {
  u64 have = 0;
  const Unset u = unset_at(w, r);
  const u8 *missing = u.missing;
  for (u32 k = 0; k < bytes; k++)
    if ((written && !(u.from && keeps(u.from[offset + k]))) || !unwritten(w, r, offset + k))
      have |= (u64)(u8)(missing ? ~missing[offset + k] : 255) << BYTE * k;
  return have;
}

static u32 first_kept(const u16 *from, u32 offset, u32 bytes, u64 have) {
  for (u32 k = 0; from && k < bytes; k++, have >>= BYTE)
    if ((have & 255) != 255 && keeps(from[offset + k])) return FROM_MEMORY | (from[offset + k] - 1u);
  return 0;
}
u32 kept_at(const Warp *w, const Region *r, u32 offset, u64 have) {
  return first_kept(unset_at(w, r).from, offset, 8, have);
}

/* The block's origin that is equal to this one; 0 when there are too many. */
static u32 origin_of(Warp *w, const Origin *like) {
  Undefined *u = undefined_of(w);
  u32 k = 0;
  if (!u->origin && !(u->origin = calloc(MOST_ORIGINS, sizeof(Origin)))) {
    out_of_memory(w->worker);
    return 0;
  }
  for (; k < u->origins; k++) {
    const Origin *o = &u->origin[k];
    if (o->report.pc == like->report.pc && o->element == like->element && o->kept == like->kept &&
        o->selected == like->selected && o->report.kind == like->report.kind && o->report.extra == like->report.extra) break;
  }
  if (k == MOST_ORIGINS) return 0;
  if (k == u->origins) u->origin[u->origins++] = *like;
  return FROM_MEMORY | k;
}
bool was_left(const Warp *w, u32 from) {
  const Origin *o = &undefined_of(w)->origin[from & ~FROM_MEMORY];
  return o->kept || o->selected;
}
u32 selected_from(Warp *w, u32 from) {
  if (!(from & FROM_MEMORY)) return from;
  Origin o = undefined_of(w)->origin[from & ~FROM_MEMORY];
  o.selected = !o.kept;
  u32 to = origin_of(w, &o);
  if (!to) return from;
  undefined_of(w)->origin[to & ~FROM_MEMORY] = o;
  return to;
}
void note_origin(Warp *w, const Insn *i, u32 l, const Region *r, u32 offset, u32 *from) {
  if (!*from) *from = origin_of(w, &(Origin){.report = {.kind = UNINIT, .pc = i->pc}, .element = i->imm});
  if (!(*from & FROM_MEMORY)) return;
  Origin *o = &undefined_of(w)->origin[*from & ~FROM_MEMORY];
  if (o->kept) return;
  o->report.space = r->space;
  o->report.buffer = r->buffer ? (u32)(r->buffer - w->launch->buffer) : 0;
  o->report.block = w->cta->number;
  o->report.size = i->size;
  if (r->space == SHARED && !(o->open[w->index] >> l & 1 && o->offset[l] == offset)) {
    o->open[w->index] |= 1u << l;
    log_uninit(w->cta, offset >> w->launch->shared_shift, thread_of(w, l), FOLLOWED | i->pc);
  }
  o->lanes |= 1u << l;
  o->offset[l] = offset;
}

void settle_read(Cta *c, u32 pc, u32 thread, bool explained) {
  Undefined *u = c->state[definedness_slot];
  u32 warp = thread / LANES, bit = 1u << thread % LANES;
  for (u32 k = 0; u && k < u->origins; k++) {
    Origin *o = &u->origin[k];
    if (o->report.pc != pc || o->kept) continue;
    o->open[warp] &= ~bit;
    o->explained[warp] = explained ? o->explained[warp] | bit : o->explained[warp] & ~bit;
  }
}

/* Reports the read of shared or global memory that a missing value comes from, or what a store left. */
void report_origin(Warp *w, u32 from, u32 missing) {
  const Origin *o = &undefined_of(w)->origin[from & ~FROM_MEMORY];
  Report r = o->report;
  if (o->kept) {
    r.count = (u64)__builtin_popcount(missing);
    report(w->worker, r);
    return;
  }
  for (r.count = 1; missing; missing &= missing - 1) {
    u32 l = first_lane(missing);
    r.thread = thread_of(w, l);
    u32 reader = o->lanes >> l & 1 ? l : first_lane(o->lanes);
    bool open = o->open[w->index] >> reader & 1;
    r.address = o->offset[reader];
    if (r.space == SHARED && open) log_uninit(w->cta, (u32)r.address >> w->launch->shared_shift, r.thread, r.pc);
    report(w->worker, r);
    if (r.space != SHARED || open) continue;
    if (o->explained[w->index] >> reader & 1) retract_read(w->worker, r.pc, SHARED, r.thread);
    else show_read(w->worker, r.pc, SHARED, r.thread, r.address);
  }
}

bool report_kept(Warp *w, const Insn *i, u32 lane, u32 space, const Buffer *b, u32 offset) {
  const Undefined *u = undefined_of(w);
  u32 from = u && u->kept ? first_kept(unset_in(u, w->launch, space, b).from, offset, 1, 0) : 0;
  if (from && u->copies != i->pc + 1) report_origin(w, from, 1u << lane);
  return from;
}

static Unset *unset_for(Warp *w, const Region *r) {
  Undefined *u = undefined_of(w);
  u32 number = r->space == SHARED ? 0 : (u32)(r->buffer - w->launch->buffer);
  if (r->space == GLOBAL && number >= u->buffers) {
    u->global = grown_to(u->global, u->buffers * sizeof(Unset), (number + 1) * sizeof(Unset));
    u->buffers = u->global ? number + 1 : 0;
    if (!u->global) out_of_memory(w->worker);
  }
  return r->space == SHARED ? &u->shared : u->global ? &u->global[number] : NULL;
}
static u8 *missing_for(Warp *w, const Region *r) {
  Unset *s = unset_for(w, r);
  if (s && !s->missing && !(s->missing = calloc(r->size + 1, 1))) out_of_memory(w->worker);
  undefined_of(w)->any = true;
  return s ? s->missing : NULL;
}
static u16 *from_for(Warp *w, const Region *r) {
  Unset *s = unset_for(w, r);
  if (s && !s->from && !(s->from = calloc(r->size + 8, sizeof(u16)))) out_of_memory(w->worker);
  undefined_of(w)->kept = true;
  return s ? s->from : NULL;
}

static void discard_marks(Unset *s) {
  free(s->missing);
  free(s->from);
  *s = (Unset){0};
}
static void widen(Unset *s, u32 offset, u32 bytes) {
  if (!s->end || offset < s->first) s->first = offset;
  if (offset + bytes > s->end) s->end = offset + bytes;
}

/* An argument's marks are kept for the next block: to allocate them costs in proportion to its size. */
void forget_unset(Undefined *u, const Launch *n) {
  discard_marks(&u->shared);
  for (u32 b = 0; b < u->buffers; b++) {
    Unset *s = &u->global[b];
    if (!n->buffer[b].item) discard_marks(s);
    if (s->missing) memset(s->missing + s->first, 0, s->end - s->first);
    if (s->from) memset(s->from + s->first, 0, (s->end - s->first) * sizeof *s->from);
    s->first = s->end = 0;
  }
  u->any = u->kept = false;
  u->pending = 0;
}
void discard_unset(Undefined *u) {
  discard_marks(&u->shared);
  for (u32 b = 0; b < u->buffers; b++) discard_marks(&u->global[b]);
  free(u->global);
}

/* Marks what a lane has stored: a granule of which nothing is defined counts as never written. `left`: 0, or BITS_LEFT. */
static void mark_stored(Warp *w, const Region *r, u32 offset, u32 bytes, u64 have, u32 from, u32 left) {
  const Launch *n = w->launch;
  u32 shift = r->space == SHARED ? n->shared_shift : n->global_shift, each = 1u << shift;
  u8 *missing = unset_at(w, r).missing;
  u16 *origins = from ? from_for(w, r) : unset_at(w, r).from;
  for (u32 k = 0; origins && k < bytes; k++)
    origins[offset + k] = from && (have >> BYTE * k & 255) != 255 ? (u16)(((from & ~FROM_MEMORY) + 1) | left) : 0;
  for (u32 k = 0; k < bytes; k += each) {
    u32 run = bytes - k < each ? bytes - k : each;
    u64 mine = have >> BYTE * k & mask_of(run);
    if (mine != mask_of(run)) {
      Unset *s = unset_for(w, r);
      if (!s || (mine && !(missing = missing_for(w, r)))) return;
      widen(s, offset + k, run);
    }
    for (u32 x = 0; missing && x < run; x++) missing[offset + k + x] = mine ? (u8)~(mine >> BYTE * x) : 0;
    if (mine || run < each) continue;
    if (r->space == SHARED) shadow_of(w->cta)->wrote[(offset + k) >> shift] = 0;
    else r->buffer->hot[(offset + k) >> shift] = HOT_UNINIT;
  }
}

/* Whether memory there may have marks of values that were stored without being set. */
static bool may_be_marked(const Warp *w, const Region *r) {
  const Undefined *u = undefined_of(w);
  return (u->any || u->kept) && (r->space == SHARED || r->space == GLOBAL);
}

/* What is written has a value: an instruction that may store without one marks that afterwards. */
static void clear_lanes(Warp *w, const Region *r, const u32 *offset, u32 bytes) {
  if (!may_be_marked(w, r)) return;
  Unset s = unset_at(w, r);
  for (u32 m = s.missing || s.from ? w->mask : 0; m; m &= m - 1) {
    u32 at = offset[first_lane(m)];
    if (s.missing) memset(s.missing + at, 0, bytes);
    if (s.from) memset(s.from + at, 0, bytes * sizeof *s.from);
  }
}
void clear_written(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  (void)i;
  clear_lanes(w, r, offset, bytes);
}
void clear_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  (void)i;
  if (!may_be_marked(w, g)) return;
  spread(r, offset);
  clear_lanes(w, g, offset, 4);
}
void clear_part(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (i->exec == ptx_st) clear_lanes(w, r, offset, bytes);
}

/* An atomic uses undefined bits of a value that was written, but to replace it, and to set or clear others. */
void clear_updated(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now) {
  (void)old, (void)now;
  if (!may_be_marked(w, r)) return;
  u64 all = mask_of(i->size), have = memory_bits(w, r, offset, i->size, false), set = ALL_BITS;
  if (have == all) return;
  u32 from = kept_at(w, r, offset, have | ~all);
  if (!sets_bits(w, i, lane, &set) && from) report_origin(w, from, 1u << lane);
  mark_stored(w, r, offset, i->size, (have | set) & all, from, 0);
}

void clear_copied_out(Warp *w, const Insn *i, const u32 *from, const Region *r, const u32 *offset) {
  (void)from;
  clear_lanes(w, r, offset, i->size);
}

static UnsetCopy *new_copy(Warp *w) {
  Undefined *u = undefined_of(w);
  if (u->pending == u->room) {
    u32 room = u->room ? 2 * u->room : LANES;
    u->copy = grown_to(u->copy, u->room * sizeof *u->copy, room * sizeof *u->copy);
    u->room = u->copy ? room : 0;
    if (!u->copy) out_of_memory(w->worker);
  }
  return u->copy ? &u->copy[u->pending++] : NULL;
}

void note_unset_copy(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!is_followed(i)) return;
  for (u32 m = w->mask; m && !w->worker->no_memory; m &= m - 1) {
    u32 l = first_lane(m), missing = 0;
    UnsetCopy c = {.warp = w->index, .lane = l, .at = NOWHERE, .have = {ALL_BITS, ALL_BITS}};
    for (u32 k = 0; k < bytes; k += 8) {
      u32 part = bytes - k < 8 ? bytes - k : 8, from;
      u64 have = memory_bits(w, r, offset[l] + k, part, false) | ~mask_of(part);
      c.have[k / 8] = have;
      if (have == ALL_BITS) continue;
      missing++;
      from = kept_at(w, r, offset[l] + k, have);
      if (from) c.from = from;
      else note_origin(w, i, l, r, offset[l], &c.from);
    }
    UnsetCopy *kept = missing ? new_copy(w) : NULL;
    if (kept) *kept = c;
  }
}

void place_unset_copy(Warp *w, const Insn *i, const u32 *offset) {
  const Undefined *u = undefined_of(w);
  (void)i;
  for (u32 k = 0; k < u->pending; k++) {
    UnsetCopy *c = &u->copy[k];
    if (c->warp == w->index && c->at == NOWHERE && w->mask >> c->lane & 1) c->at = offset[c->lane];
  }
}

void finish_unset_copy(Warp *w, const Insn *i, const u32 *offset) {
  Undefined *u = undefined_of(w);
  Region r = region_of(w, SHARED, 0);
  u32 left = 0, done = 0;
  clear_lanes(w, &r, offset, i->size);
  for (u32 k = 0; k < u->pending; k++) {
    UnsetCopy c = u->copy[k];
    bool mine = c.warp == w->index && w->mask >> c.lane & ~done >> c.lane & 1 && c.at == offset[c.lane];
    if (mine) done |= 1u << c.lane;
    else u->copy[left++] = c;
    for (u32 at = 0; mine && at < i->size; at += 8) {
      u32 part = i->size - at < 8 ? i->size - at : 8u;
      mark_stored(w, &r, c.at + at, part, c.have[at / 8] & mask_of(part), c.from, 0);
    }
  }
  u->pending = left;
}

/* Whether bytes of an argument that are no padding are left without a value, or without a bit unless a value is only
 * copied: the host reads them. */
static bool is_output(const Region *r, u32 offset, u32 bytes, u64 have, bool copies) {
  const Buffer *b = r->buffer;
  bool any = false;
  for (u32 k = 0; r->space == GLOBAL && b->item && k < bytes; k++) {
    u32 byte = (u32)(have >> BYTE * k & 255);
    any |= (copies ? !byte : byte != 255) && b->members[(offset + k) % b->item];
  }
  return any;
}

u32 left_by(Warp *w, const Insn *i, u32 from, u32 lanes) {
  if (from & FROM_MEMORY) return from;
  if (!lanes || (from & (OF_LIBRARY | OF_ELEMENT)) == OF_LIBRARY) return 0;
  Report r = report_of(w, i, from, lanes);
  r.flags &= ~(u32)IN_LIBRARY;
  return origin_of(w, &(Origin){.report = r, .element = (s64)r.address, .kept = true});
}

/* Whether bytes of an argument are of numbers, of which the host reads all bits. */
static bool has_numbers(const Buffer *b, u64 at, u32 bytes) {
  bool any = false;
  for (u32 k = 0; b->item && k < bytes; k++) any |= b->members[(at + k) % b->item] == OF_NUMBER;
  return any;
}

/* What is reported at the end of the block if a number keeps the undefined bits that a lane stores. */
static u32 bits_left_by(Warp *w, const Insn *i, u32 from, u32 l) {
  if (!(from = left_by(w, i, from, 1u << l))) return 0;
  Origin o = undefined_of(w)->origin[from & ~FROM_MEMORY];
  if (o.kept) return from;
  o.kept = true;
  o.report.thread = thread_of(w, l);
  o.report.address = o.offset[o.lanes >> l & 1 ? l : first_lane(o.lanes)];
  return origin_of(w, &o);
}

void report_bits_left(Cta *c) {
  const Undefined *u = c->state[definedness_slot];
  for (u32 k = 0; u && u->kept && k < u->buffers; k++) {
    const Buffer *b = &c->worker->launch->buffer[k];
    Unset s = u->global[k];
    if (!s.from || !has_numbers(b, 0, (u32)b->item)) continue;
    for (u64 at = s.first; at < s.end; at++)
      if (s.from[at] && has_numbers(b, at, 1)) {
        report_origin(c->warp, FROM_MEMORY | ((s.from[at] & ~(u32)BITS_LEFT) - 1), 1);
        at += b->item - 1 - at % b->item;
      }
  }
}

/* Stores, in the place of bits that have no value, that of a run which shows whether it matters. */
static void store_value(const Warp *w, const Insn *i, u32 l, u8 *place, u64 have) {
  u64 x = given_value(w->launch, l + 5 * i->pc);
  for (u32 k = 0; k < i->size && k < sizeof x; k++) {
    u8 known = (u8)(have >> BYTE * k);
    place[k] = (u8)((place[k] & known) | ((u8)(x >> BYTE * k) & ~known));
  }
}

/* After a store to shared or global memory: d: the shadow of what it stored; b: the number of its register; flag: 1 in
 * library code, 2 where a value is only copied, and may be defined in part, 4 where the register is a variable of a
 * library, 8 where the value has been checked. */
enum { COPIES = 2, CHECKED = 8 };
void ptx_shadow_stored(Warp *w, const Insn *i) {
  u32 unset = w->mask & ~*SRC(u32, i->d), from = origin(w, i->d), used = 0;
  if (!unset && !undefined_of(w)->any) return;
  if (w->cta->representative && unset) disprove(w->worker);
  bool library = unset && in_library(w, i), own = from & OF_LIBRARY || (!from && i->flag & 4);
  if (library && !(from & (FROM_MEMORY | OF_ELEMENT)) && (own || from & HANDED)) used = unset;
  u32 kept = unset & ~used && !(i->flag & CHECKED) ? left_by(w, i, from, unset) : 0;
  bool copies = i->flag & COPIES;
  u32 nothing = unset & ~touched(w, i->d, i->size);
  u32 lacking = copies && !(from & FROM_MEMORY && was_left(w, from)) ? nothing : unset;
  for (u32 left = undefined_of(w)->any ? w->mask : unset; left; left &= left - 1) {
    Region r;
    u32 offset, l = first_lane(left);
    if (!memory_at(w, i, l, &r, &offset)) { used &= ~(left & -left); continue; }
    u64 have = have_of(w, i->d, l);
    if (w->launch->unset) store_value(w, i, l, r.data + offset, have);
    bool reports = library ? kept != 0 : !(i->flag & CHECKED);
    if (reports && lacking >> l & 1 && is_output(&r, offset, i->size, have, copies)) used |= 1u << l;
    bool whose = !(from & FROM_MEMORY) || nothing >> l & 1; /* else the read of the rest is the first use of it */
    bool leaves = (!whose || i->flag & CHECKED) && unset >> l & 1 && r.space == GLOBAL && has_numbers(r.buffer, offset, i->size);
    u32 origin = leaves ? bits_left_by(w, i, from, l) : whose ? kept : 0;
    mark_stored(w, &r, offset, i->size, used >> l & 1 ? ALL_BITS : have, origin, leaves ? BITS_LEFT : 0);
  }
  if (!used) return;
  *DST(u32, i->d) |= used;
  if (from & FROM_MEMORY || (library && kept)) report_origin(w, library ? kept : from, used);
  else if (!library || !own) report(w->worker, report_of(w, i, from, used));
}

