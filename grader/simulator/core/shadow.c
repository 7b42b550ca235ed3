/* Registers that may hold no value yet: see shadow.py. A shadow is a predicate, 1 in the lanes
 * where its register is defined; a new frame's are all 0.
 *
 * These are no instructions of the program: they take no step, and mind the guard of the one they
 * run before by themselves. imm: that guard's operand + 1, or 0; << 32: 1 where it is negated. */
#include <stdlib.h>
#include <string.h>
#include "control.h"
#include "memory.h"

static u32 present(const Warp *w, const Insn *i) {
  u32 guard = (u32)i->imm;
  return guard ? w->mask & (*SRC(u32, guard - 1) ^ (i->imm >> 32 ? FULL : 0)) : w->mask;
}

/* A shadow is two words: the lanes, and where in local memory what is missing was looked for: that
 * offset + 1 of the first such lane, or 0. */
static void put(Warp *w, const Insn *i, u32 r, u32 from) {
  u32 m = present(w, i), *d = DST(u32, i->d);
  if (m & ~r) d[1] = from;
  d[0] = (d[0] & ~m) | (r & m);
}
static u32 origin(const Warp *w, u32 ref) { return (ref & 3) == 0 ? SRC(u32, ref)[1] : 0; }

void ptx_shadow_copy(Warp *w, const Insn *i) { put(w, i, *SRC(u32, i->a), origin(w, i->a)); }
void ptx_shadow_any(Warp *w, const Insn *i) {
  put(w, i, *SRC(u32, i->a) | *SRC(u32, i->b) | *SRC(u32, i->c) | *SRC(u32, i->e), origin(w, i->a));
}
void ptx_shadow_select(Warp *w, const Insn *i) {
  u32 p = *SRC(u32, i->c), a = *SRC(u32, i->a), b = *SRC(u32, i->b);
  put(w, i, (a & p) | (b & ~p), origin(w, p & ~a ? i->a : i->b));
}

/* As the shuffle beside it, of numbers in a bank of this function's own. */
void ptx_shfl_b32(Warp *w, const Insn *i);
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
  put(w, i, r, origin(w, i->a));
}

/* Local memory: for each byte of a thread's stack the lanes that gave it a value. */
static bool room_for(Warp *w, u32 bytes) {
  if (bytes <= w->defined_room) return true;
  u32 *more = calloc(bytes, sizeof *more);
  if (!more) {
    w->worker->stop = w->worker->no_memory = true;
    return false;
  }
  if (w->defined) memcpy(more, w->defined, w->defined_room * sizeof *more);
  free(w->defined);
  w->defined = more;
  w->defined_room = bytes;
  return true;
}

void forget_defined(Warp *w, u32 from, u32 bytes, u32 lanes) {
  for (u32 at = from; at < from + bytes && at < w->defined_room; at++) w->defined[at] &= ~lanes;
}

/* Where the lanes access their stacks: one offset that all of them share, or each its own. Lanes
 * that access other memory, or stray, are not among `lanes`. */
typedef struct { u32 lanes, at[LANES]; bool same; } Places;

static bool one_address(const Warp *w, const Insn *i, u32 first) {
  if (i->flag) return true; /* the decoder knows */
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
    u32 *byte = w->defined + p.at[0];
    for (u32 k = 0; k < i->size; k++) byte[k] = (byte[k] & ~p.lanes) | (given & p.lanes);
    return;
  }
  for (u32 m = p.lanes; m; m &= m - 1) {
    u32 bit = m & -m, *byte = w->defined + p.at[__builtin_ctz(m)];
    for (u32 k = 0; k < i->size; k++) byte[k] = (byte[k] & ~bit) | (given & bit);
  }
}

static u32 any_defined(const Warp *w, u32 at, u32 bytes) {
  u32 any = 0;
  for (u32 k = at; k < at + bytes && k < w->defined_room; k++) any |= w->defined[k];
  return any;
}

/* Before a load: d: the shadow of the register that it loads. A register is defined when one of
 * its bytes is: padding, bit fields and unions are read with what lies beside them. */
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
  put(w, &plain, r, from);
}

/* Whose stack holds an offset: the report's extra, the function's number + 1, and its address. */
static void tell_place(const Warp *w, u32 at, Report *r) {
  for (const Frame *f = &w->frame[w->top];; f = &w->frame[f->parent]) {
    if (at >= f->local) {
      r->extra = f->function + 1;
      r->address = at - f->local;
      return;
    }
    if (f->parent == NO_FRAME) return;
  }
}

/* Whether a library computes here, or called what does: libraries compute with elements that they
 * then throw away. */
static bool quiet(const Warp *w, const Insn *i) {
  if (i->flag) return true;
  for (const Frame *f = &w->frame[w->top]; f->parent != NO_FRAME; f = &w->frame[f->parent])
    if (w->launch->call[f->call].quiet) return true;
  return false;
}

/* a: the shadow; b: the suspect's number; c: a store's address when mode; flag: a library's code.
 * Only what stays in the thread's own memory may be stored unseen. */
void ptx_shadow_check(Warp *w, const Insn *i) {
  u32 missing = present(w, i) & ~*SRC(u32, i->a), from = origin(w, i->a);
  if (!missing) return;
  for (u32 m = i->mode ? missing : 0; m; m &= m - 1)
    if (SRC(u64, i->c)[__builtin_ctz(m)] - LOCAL_BASE < WINDOW) missing &= ~(m & -m);
  if (!missing) return;
  Report r = {.kind = UNDEFINED, .pc = i->pc, .buffer = i->b, .block = w->cta->number,
              .thread = w->base + (u32)__builtin_ctz(missing),
              .count = (u64)__builtin_popcount(missing)};
  if (from) tell_place(w, from - 1, &r);
  if (!from || !quiet(w, i)) report(w->worker, r);
  *DST(u32, i->a) |= missing;
}
