/* Pointers to local variables: an access must be to the variable that its pointer was made from, while that exists.
 *
 * The decoder puts ptx_shadow_life where the block of a variable begins and ends, and behind the expression that made a
 * temporary object (decode/lifetimes.py, decode/temporaries.py). A variable of each round of a loop has several numbers
 * in turn, so that a pointer to that of an earlier round has another number: ptx_shadow_round adds it to an address. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/findings.h"

/* By byte of a warp's stack, for the variables that begin there: the round that each lane is in, a bit of it in each of
 * two words, and the lanes in which the variable has ended. NULL until one begins or ends. */
enum { ROUND_LOW, ROUND_HIGH, IS_OVER, WORDS };
typedef struct { u32 *word, room; } Lives;

static u32 *life_at(const Warp *w, u64 at) {
  const Lives *all = w->cta->state[lifetimes_slot];
  return all && at < all[w->index].room ? all[w->index].word + at * WORDS : NULL;
}

static u32 *made_at(Warp *w, u64 at) {
  Lives *all = w->cta->state[lifetimes_slot];
  u32 room = (u32)region_of(w, LOCAL, 0).size;
  if (!all || at >= room) return NULL;
  Lives *own = &all[w->index];
  if (own->room < room) {
    u32 *more = calloc(room, WORDS * sizeof(u32));
    if (!more) {
      out_of_memory(w->worker);
      return NULL;
    }
    if (own->word) memcpy(more, own->word, (size_t)own->room * WORDS * sizeof(u32));
    free(own->word);
    *own = (Lives){more, room};
  }
  return own->word + at * WORDS;
}

/* a, imm: the address of a variable. flag: 1 where its block begins for another round, 2 where it has ended, 0 where it
 * exists. */
void ptx_shadow_life(Warp *w, const Insn *i) {
  u64 at = lane_address(w, i, first_lane(w->mask)) - LOCAL_START;
  u32 *life = i->flag ? made_at(w, at) : life_at(w, at);
  if (!life) return;
  if (i->flag & 1) {
    life[ROUND_HIGH] ^= life[ROUND_LOW] & w->mask;
    life[ROUND_LOW] ^= w->mask;
  }
  life[IS_OVER] = i->flag & 2 ? life[IS_OVER] | w->mask : life[IS_OVER] & ~w->mask;
}

/* The lanes in which a variable has ended, or another of its rounds is the present one. */
static u32 gone(const u32 *life, const LocalVariable *v) {
  u32 lanes = life[IS_OVER];
  if (v->rounds > 1) lanes |= life[ROUND_LOW] ^ (v->round & 1 ? FULL : 0);
  if (v->rounds > 2) lanes |= life[ROUND_HIGH] ^ (v->round & 2 ? FULL : 0);
  return lanes;
}

/* After the address d of a variable was made. count: how many numbers it has. */
void ptx_shadow_round(Warp *w, const Insn *i) {
  u64 *p = DST(u64, i->d);
  const u32 *life = life_at(w, without_owner(p[first_lane(w->mask)]) - LOCAL_BASE - LOCAL_START);
  if (!life) return;
  u32 low = life[ROUND_LOW], high = i->count > 2 ? life[ROUND_HIGH] : 0;
  EACH_LANE { p[l] += (u64)((low >> l & 1) + 2 * (high >> l & 1)) << VARIABLE_SHIFT & (u64)(s64)(s32)w->lane[l]; }
}

const LocalVariable *numbered(const Launch *n, const Function *f, u32 number) {
  u32 k = (number - 1 + MOST_VARIABLES - f->variable % MOST_VARIABLES) % MOST_VARIABLES;
  return k < f->variables ? &n->variable[f->variable + k] : NULL;
}

/* The frame whose variable of a number an access to the stack is in, or else the nearest; *far: how far from it. */
static const Frame *nearest(const Warp *w, u32 number, s64 at, u32 bytes, s64 *far) {
  const Frame *found = NULL;
  for (const Frame *f = &w->frame[w->top]; *far; f = &w->frame[f->parent]) {
    const Function *fn = &w->launch->function[f->function];
    const LocalVariable *v = numbered(w->launch, fn, number);
    if (v) {
      s64 before = (s64)f->local + v->first - at, behind = at + bytes - f->local - v->end;
      s64 most = before > behind ? before : behind, away = most > 0 ? most : 0;
      if (away <= *far) found = f;
      if (away <= *far) *far = away;
    }
    if (f->parent == NO_FRAME) break;
  }
  return found;
}

bool leaves_variable(const Warp *w, u64 pointer, u32 bytes) {
  u32 number = variable_of(pointer);
  s64 at = (s64)(without_owner(pointer) - LOCAL_BASE - LOCAL_START), far = INT64_MAX;
  const Frame *f = number ? nearest(w, number, at, bytes, &far) : NULL;
  return f && far && !numbered(w->launch, &w->launch->function[f->function], number)->open;
}

static void report_local(Warp *w, const Insn *i, u32 l, const Frame *f, const LocalVariable *v, u32 flags, u64 at) {
  report(w->worker, (Report){.kind = INVALID, .flags = i->flag | flags, .pc = i->pc, .space = LOCAL, .size = i->size,
                             .buffer = v->first, .block = w->cta->number, .thread = thread_of(w, l), .count = 1,
                             .extra = f->function + 1, .address = at});
}

/* An access through a pointer to a variable of a function that has returned: its number is in no frame. It is named
 * where no other function has a variable with this number. */
static void report_returned(Warp *w, const Insn *i, u32 l, u32 number) {
  const Launch *n = w->launch;
  Report r = {.kind = INVALID, .flags = i->flag | FREED, .pc = i->pc, .space = LOCAL, .size = i->size,
              .block = w->cta->number, .thread = thread_of(w, l), .count = 1};
  u32 owners = 0;
  for (u32 f = 0; f < n->functions; f++) {
    const LocalVariable *v = numbered(n, &n->function[f], number);
    if (!v) continue;
    r.extra = owners++ ? 0 : f + 1;
    r.buffer = owners > 1 ? 0 : v->first;
    r.address = r.buffer;
  }
  report(w->worker, r);
}

/* The access of lanes whose pointers differ in their owners alone. */
static void check(Warp *w, const Insn *i, u64 pointer, u32 lanes) {
  u32 number = i->b ? i->b : variable_of(pointer);
  s64 at = (s64)(without_owner(pointer + (u64)i->imm) - LOCAL_BASE - LOCAL_START), far = INT64_MAX;
  if (!number) return;
  bool is_own = ((pointer - without_owner(pointer)) & ~VARIABLE_BITS) == owner_of(w, first_lane(lanes));
  const Frame *f = nearest(w, number, at, i->size, &far);
  if (!f) {
    for (u32 m = is_own ? lanes : 0; m; m &= m - 1) report_returned(w, i, first_lane(m), number);
    return;
  }
  const LocalVariable *v = numbered(w->launch, &w->launch->function[f->function], number);
  bool leaves = far && !v->open;
  const u32 *life = leaves || !is_own ? NULL : life_at(w, f->local + v->first);
  for (u32 m = leaves ? lanes : life ? lanes & gone(life, v) : 0; m; m &= m - 1)
    report_local(w, i, first_lane(m), f, v, leaves ? 0 : FREED | OF_BLOCK, leaves ? (u64)(at - f->local) : v->first);
}

/* Before an access through a pointer. An address that a function makes of a variable in its stack frame has the
 * variable's number, and keeps it in arithmetic and in memory: the access must be to that variable. b: its number, where
 * the access is at a place in the frame, which has none; else 0. */
void ptx_shadow_object(Warp *w, const Insn *i) {
  const u64 *p = SRC(u64, i->a);
  u64 any = 0;
  EACH_LANE { any |= (u64)(s64)(s32)w->lane[l] & p[l]; }
  if (!(any & LOCAL_MARK) || !(i->b || any & VARIABLE_BITS)) return;
  for (u32 left = w->mask; left;) {
    u32 first = first_lane(left), same = 0;
    u64 own = p[first] - owner_of(w, first);
    EACH_LANE { same |= (u32)(p[l] - owner_of(w, (u32)l) == own) << l; }
    check(w, i, p[first], same & left);
    left &= ~same;
  }
}

/* The text that a printf has read. */
static void check_text(Warp *w, const Insn *i, u32 lane, u64 address, u32 bytes) {
  Insn access = {.pc = i->pc, .size = (u16)bytes};
  if (address & LOCAL_MARK) check(w, &access, address, 1u << lane);
}

static void make(Cta *c) {
  if (!(c->state[lifetimes_slot] = calloc(c->warps, sizeof(Lives)))) out_of_memory(c->worker);
}

static void discard(Cta *c) {
  Lives *all = c->state[lifetimes_slot];
  for (u32 k = 0; all && k < c->warps; k++) free(all[k].word);
  free(all);
}

/* The variables of a call have not ended. */
static void push_frame(Warp *w, u32 local, u32 bytes, u32 lanes) {
  for (u32 at = local; at < local + bytes; at++) {
    u32 *life = life_at(w, at);
    if (!life) return;
    life[IS_OVER] &= ~lanes;
  }
}

const Watcher lifetimes_watcher = {
    .blocks = FULL_BLOCKS, .block_created = make, .block_destroyed = discard, .frame_pushed = push_frame, .text = check_text};
