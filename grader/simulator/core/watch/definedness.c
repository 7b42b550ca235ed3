/* Values that are undefined: registers and local memory that were never given one (see shadow.py). The
 * shadow of a register is a predicate, 1 in the lanes where it is defined; those of a new frame are 0.
 *
 * The decoder puts the instructions ptx_shadow_* among the program's. They take no step, and apply the
 * guard of the instruction that they precede. imm: that guard's operand + 1, or 0; << 32: 1 where it is
 * negated. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/findings.h"

/* By byte of a warp's local memory: the lanes that gave it a value. */
typedef struct { u32 *lanes, room; } Defined;

static Defined *defined_of(const Warp *w) { return (Defined *)w->cta->state[definedness_slot] + w->index; }

static u32 present(const Warp *w, const Insn *i) {
  u32 guard = (u32)i->imm;
  return guard ? w->mask & (*SRC(u32, guard - 1) ^ (i->imm >> 32 ? FULL : 0)) : w->mask;
}

/* A shadow is two words: the lanes, and the place in local memory of the missing value: the offset + 1 of
 * the first such lane, or 0. */
static void set_shadow(Warp *w, const Insn *i, u32 r, u32 from) {
  u32 m = present(w, i), *d = DST(u32, i->d);
  if (m & ~r) d[1] = from;
  d[0] = (d[0] & ~m) | (r & m);
}
static u32 origin(const Warp *w, u32 ref) { return (ref & 3) == 0 ? SRC(u32, ref)[1] : 0; }

void ptx_shadow_copy(Warp *w, const Insn *i) { set_shadow(w, i, *SRC(u32, i->a), origin(w, i->a)); }
void ptx_shadow_any(Warp *w, const Insn *i) {
  set_shadow(w, i, *SRC(u32, i->a) | *SRC(u32, i->b) | *SRC(u32, i->c) | *SRC(u32, i->e), origin(w, i->a));
}
void ptx_shadow_select(Warp *w, const Insn *i) {
  u32 p = *SRC(u32, i->c), a = *SRC(u32, i->a), b = *SRC(u32, i->b);
  set_shadow(w, i, (a & p) | (b & ~p), origin(w, p & ~a ? i->a : i->b));
}

/* The shuffle that follows, applied to the shadows as 0 and 1, in a register bank of this function. */
void ptx_shadow_shuffle(Warp *w, const Insn *i) {
  enum { OWN = 3 };
  u32 lane[2][LANES] = {{0}}, from = *SRC(u32, i->a), r = 0;
  for (u32 l = 0; l < LANES; l++) lane[0][l] = from >> l & 1;
  Insn shuffle = {.a = OWN, .d = sizeof lane[0] | OWN, .b = i->b, .c = i->c, .mode = i->mode};
  u8 *was = w->bank[OWN];
  w->bank[OWN] = (u8 *)lane;
  ptx_shfl_b32(w, &shuffle);
  w->bank[OWN] = was;
  for (u32 l = 0; l < LANES; l++) r |= lane[1][l] << l;
  set_shadow(w, i, r, origin(w, i->a));
}

static bool room_for(Warp *w, u32 bytes) {
  Defined *d = defined_of(w);
  if (bytes <= d->room) return true;
  u32 *more = calloc(bytes, sizeof *more);
  if (!more) {
    out_of_memory(w->worker);
    return false;
  }
  if (d->lanes) memcpy(more, d->lanes, d->room * sizeof *more);
  free(d->lanes);
  *d = (Defined){more, bytes};
  return true;
}

static void make(Cta *c) {
  c->state[definedness_slot] = calloc(c->warps, sizeof(Defined));
  if (!c->state[definedness_slot]) out_of_memory(c->worker);
}

static void discard(Cta *c) {
  Defined *all = c->state[definedness_slot];
  for (u32 k = 0; all && k < c->warps; k++) free(all[k].lanes);
  free(all);
}

/* The stack frame of a call holds no values. */
static void push_frame(Warp *w, u32 local, u32 bytes, u32 lanes) {
  Defined *d = defined_of(w);
  for (u32 at = local; at < local + bytes && at < d->room; at++) d->lanes[at] &= ~lanes;
}

/* Where the lanes access their stacks: at one offset that all of them share, or each at its own. Lanes
 * that access other memory, or out of bounds, are not in `lanes`. */
typedef struct { u32 lanes, at[LANES]; bool same; } Places;

static bool one_address(const Warp *w, const Insn *i, u32 first) {
  if (i->flag) return true; /* the decoder has found it so */
  u64 differ = 0;
  if (i->mode == 4) {
    const u32 *p = SRC(u32, i->a), it = p[first];
    EACH_LANE { differ |= w->lane[l] & (p[l] ^ it); }
  } else {
    const u64 *p = SRC(u64, i->a), it = p[first];
    EACH_LANE { differ |= (u64)(s64)(s32)w->lane[l] & (p[l] ^ it); }
  }
  return !differ;
}

static Places places_of(const Warp *w, const Insn *i) {
  u32 first = (u32)__builtin_ctz(w->mask);
  Region r = region_of(w, LOCAL, 0);
  u64 base = i->space == LOCAL ? 0 : LOCAL_BASE, most = r.size - i->size;
  Places found = {.lanes = 0, .same = one_address(w, i, first)};
  if (r.size < i->size) return found;
  for (u32 m = found.same ? 1u << first : w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    u64 at = (i->mode == 4 ? SRC(u32, i->a)[l] : SRC(u64, i->a)[l]) + (u64)i->imm - base;
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

/* Before a store: d: the shadow of what it stores. */
void ptx_shadow_store(Warp *w, const Insn *i) {
  Places p = places_of(w, i);
  u32 given = *SRC(u32, i->d);
  if (!p.lanes || !room_for(w, (u32)region_of(w, LOCAL, 0).size)) return;
  if (p.same) {
    u32 *byte = defined_of(w)->lanes + p.at[0];
    for (u32 k = 0; k < i->size; k++) byte[k] = (byte[k] & ~p.lanes) | (given & p.lanes);
    return;
  }
  for (u32 m = p.lanes; m; m &= m - 1) {
    u32 bit = m & -m, *byte = defined_of(w)->lanes + p.at[__builtin_ctz(m)];
    for (u32 k = 0; k < i->size; k++) byte[k] = (byte[k] & ~bit) | (given & bit);
  }
}

static u32 any_defined(const Warp *w, u32 at, u32 bytes) {
  u32 any = 0;
  const Defined *d = defined_of(w);
  for (u32 k = at; k < at + bytes && k < d->room; k++) any |= d->lanes[k];
  return any;
}

/* Before a load: d: the shadow of the register that it loads. A register is defined when one of
 * its bytes is: padding, bit fields and unions are read together with their neighbors. */
void ptx_shadow_load(Warp *w, const Insn *i) {
  Places p = places_of(w, i);
  u32 r = ~p.lanes, from = 0;
  if (p.same && p.lanes) {
    r |= any_defined(w, p.at[0], i->size);
    from = p.at[0] + 1;
  } else {
    for (u32 m = p.lanes; m; m &= m - 1) {
      u32 bit = m & -m, at = p.at[__builtin_ctz(m)];
      r |= any_defined(w, at, i->size) & bit;
      if (!(r & bit) && !from) from = at + 1;
    }
  }
  Insn plain = {.d = i->d};
  set_shadow(w, &plain, r, from);
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
  if (i->flag) return true;
  for (const Frame *f = &w->frame[w->top]; f->parent != NO_FRAME; f = &w->frame[f->parent])
    if (w->launch->call[f->call].library) return true;
  return false;
}

/* Before a use. a: the shadow; b: the number of the use; c: a store's address when mode; flag: library
 * code. A store to the thread's own local memory is no use. */
void ptx_shadow_check(Warp *w, const Insn *i) {
  u32 missing = present(w, i) & ~*SRC(u32, i->a), from = origin(w, i->a);
  if (!missing) return;
  for (u32 m = i->mode ? missing : 0; m; m &= m - 1)
    if (SRC(u64, i->c)[__builtin_ctz(m)] - LOCAL_BASE < WINDOW) missing &= ~(m & -m);
  if (!missing) return;
  Report r = {.kind = UNDEFINED, .pc = i->pc, .buffer = i->b, .block = w->cta->number,
              .thread = w->base + (u32)__builtin_ctz(missing),
              .count = (u64)__builtin_popcount(missing)};
  if (from) add_place(w, from - 1, &r);
  if (!from || !in_library(w, i)) report(w->worker, r);
  *DST(u32, i->a) |= missing;
}

const Watcher definedness_watcher = {
    .block_created = make, .block_destroyed = discard, .frame_pushed = push_frame};
