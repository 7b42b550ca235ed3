/* Lanes that poll: they look at memory again and again, until another thread writes there.
 *
 * A lane whose looks give the same again, while it does nothing else that others notice, sleeps until the place has
 * another value; one whose loop has more places, until any memory changes. Lanes of its warp that do not sleep run
 * first, and a warp, or a block, of sleeping lanes alone has no turn. All of this is a choice of turns, so it is legal
 * for any program: a lane that would have left its loop for another reason waits longer, and not forever. It runs again
 * after MOST_SKIPS turns, and where nothing else can run. A loop that reads clocks is not one of these. */
#include <string.h>
#include "machine/control.h"
#include "machine/memory.h"

enum { LOOKS = 3, PATIENT_LOOKS = 1 << 11, LOOKS_IN_A_PAUSE = 64, MOST_SKIPS = 256, LONG_TURN = 4096 };

/* Where a lane looks: of an object of 8 or 16 bits, at the word around it. */
static u64 place_of(u64 at) {
  if (at & LOCAL_MARK || !(at & PART_MARK)) return at;
  return at & ((1ull << PART_KIND) - 1) & ~3ull;
}

/* The bytes at a place, of which other threads may change the value; NULL if there are none. The word around an object
 * may end behind its buffer. */
static const u8 *bytes_at(const Warp *w, u32 space, u64 place, u32 *bytes) {
  Region r = region_of(w, space, place);
  u64 offset = place - r.base;
  if ((r.space != SHARED && r.space != GLOBAL) || offset >= r.size) return NULL;
  if (*bytes > r.size - offset) *bytes = (u32)(r.size - offset);
  return r.data + offset;
}

static u64 value_of(const u8 *p, u32 bytes) {
  u64 value = 0;
  for (u32 k = 0; k < bytes; k += sizeof value) {
    u64 part = 0;
    memcpy(&part, p + k, bytes - k < sizeof part ? bytes - k : sizeof part);
    value = value * 0x9E3779B97F4A7C15ull + part;
  }
  return value;
}

/* What the lanes see, and in *all a hash of it; false where others cannot change what one of them looks at. */
static bool see(const Warp *w, const Insn *i, const u64 *at, u32 lanes, u64 *seen, u64 *all) {
  u64 before = 0, value = 0;
  *all = 1;
  for (u32 m = lanes; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 place = place_of(at[l]);
    if (m == lanes || place != before) {
      u32 bytes = (u32)i->size * i->count;
      const u8 *p = bytes_at(w, i->space, place, &bytes);
      if (!p) return false;
      value = value_of(p, bytes);
      before = place;
    }
    seen[l] = value;
    *all = (*all * 0x9E3779B97F4A7C15ull ^ place) * 0xBF58476D1CE4E5B9ull + value;
  }
  return true;
}

/* The lanes' last look that was this one; a new one takes the place of the oldest. */
static Look *look_like(Warp *w, const Insn *i, u64 first) {
  for (u32 k = 0; k < LOOKS_KEPT; k++) {
    Look *x = &w->look[k];
    if (x->insn == i && x->first == first) return x;
  }
  Look *x = &w->look[w->looks++ % LOOKS_KEPT];
  *x = (Look){.insn = i, .first = first};
  return x;
}

static void fall_asleep(Warp *w, const Insn *i, const u64 *at, const u64 *seen, u32 lanes, bool one_place) {
  if (w->asleep_change != changes_for(w)) wake_changed(w);
  for (u32 m = lanes; m; m &= m - 1) {
    u32 l = first_lane(m);
    w->sleep[l] = (Sleep){.place = one_place ? place_of(at[l]) : 0, .seen = one_place ? seen[l] : 0,
                          .bytes = (u32)i->size * i->count, .space = i->space};
  }
  w->asleep |= lanes;
  w->look_again = 0;
}

/* Whether a warp may wait in this loop for what others do: no memory changed since it came here before. */
static bool waits_still(Warp *w, const Insn *i) {
  if (!(i->flag & WAITING)) return false;
  if (w->waited_change != changes_for(w)) w->waited = 0;
  w->waited_change = changes_for(w);
  return ++w->waited > LOOKS;
}

/* In some orders a warp looks for long before it sleeps, so that a wait for a limited time gives up, or so that a lane
 * which searches for a place writes there before the next lane looks; also while another one pauses, who may have a lock. */
bool is_patient(Warp *w) {
  u32 most = is_of_kind(w->launch, PATIENT) || w->launch->lane_order ? PATIENT_LOOKS : w->cta->worker->paused ? LOOKS_IN_A_PAUSE : 0;
  return w->patience < most && ++w->patience;
}

/* Whether it looks again, and keeps its turn, in a loop that gives up after many looks: in runs that are made for this, in
 * an order in which waits give up or while another warp pauses. */
static bool looks_on(Warp *w, const Insn *i) {
  Worker *k = w->worker;
  const Launch *n = w->launch;
  if (!n->limited || !n->limited[i->pc] || !(is_of_kind(n, PATIENT) || k->paused) || k->long_looks >= n->long_looks) return false;
  k->long_looks++;
  if (w->turn_ends < w->steps + LONG_TURN) w->turn_ends = w->steps + LONG_TURN;
  return true;
}

/* Before a pause at a compare-and-swap: what its first lane expects. */
void expect(Worker *k, Warp *w, const Insn *i) {
  u32 l = first_lane(w->mask);
  u64 place = place_of(lane_address(w, i, l));
  k->expected = (Expected){.place = place, .value = register_lane(w, i->b, i->width, l), .bytes = i->size, .space = i->space};
}

/* Whether the place has had what is expected again, so often that the pause ends. */
bool is_restored(Worker *k) {
  Expected *x = &k->expected;
  u32 bytes = x->bytes;
  const u8 *p = bytes_at(k->paused, x->space, x->place, &bytes);
  bool same = p && value_of(p, bytes) == (x->value & ~0ull >> (64 - 8 * bytes));
  x->times += same && x->changed;
  x->changed = !same;
  return x->times >= k->launch->restored;
}

/* Whether the look, with some of the lanes, gives what it gave the last time, and they did nothing else since. */
static bool repeats(Warp *w, Look *x, const Insn *i, const u64 *at, u32 lanes) {
  bool again = x->did == w->did && x->clock_reads == w->clock_reads && !(lanes & ~x->lanes);
  bool same = again && x->change == changes_for(w);
  u64 seen[LANES], all = 0;
  if (!same && again && see(w, i, at, lanes, seen, &all)) same = x->all == all && x->lanes == lanes;
  x->all = all;
  x->did = w->did;
  x->lanes = lanes;
  x->change = changes_for(w);
  x->clock_reads = w->clock_reads;
  return same;
}

/* After a strong load or an atomic of some lanes. Those that have slept here do so again at the second look. */
void look(Warp *w, const Insn *i, const u64 *at, u32 lanes) {
  if (!w->launch->exact || !lanes) return;
  Look *x = look_like(w, i, at[first_lane(lanes)]);
  bool one_place = x == w->last_look;
  x->quiet = repeats(w, x, i, at, lanes) ? x->quiet + 1 : 0;
  w->last_look = x;
  u64 seen[LANES], all;
  if (x->quiet <= (x->polls ? 0 : LOOKS) && !waits_still(w, i)) return;
  w->looks_on = looks_on(w, i);
  if (w->looks_on || is_patient(w)) return;
  bool seen_by_others = see(w, i, at, lanes, seen, &all); /* a thread may wait for its own variable, too */
  if (!seen_by_others && !(i->flag & WAITING)) return;
  fall_asleep(w, i, at, seen, lanes, seen_by_others && one_place && x->quiet);
  x->polls = true;
}

/* Wakes the lanes for which a place has changed. */
void wake_changed(Warp *w) {
  bool any = w->asleep_change != changes_for(w);
  w->asleep_change = changes_for(w);
  for (u32 m = any ? w->asleep : 0; m; m &= m - 1) {
    u32 l = first_lane(m);
    const Sleep *s = &w->sleep[l];
    u32 bytes = s->bytes;
    const u8 *p = s->place ? bytes_at(w, s->space, s->place, &bytes) : NULL;
    if (!p || value_of(p, bytes) != s->seen) w->asleep &= ~(1u << l);
  }
}

/* Whether a warp has no turn now. */
bool dozes(Warp *w) {
  if (!w->resting) return false;
  wake_changed(w);
  if (w->asleep == w->resting && ++w->skips % MOST_SKIPS) return true;
  wake(w);
  return false;
}

/* All lanes run again. */
void wake(Warp *w) {
  w->asleep = w->resting = 0;
}

/* Whether no warp of a block that can run has a turn. */
bool block_dozes(Cta *c) {
  bool all = c->dozing;
  for (u32 k = 0; k < c->warps && all; k++) all = !c->warp[k].resting || dozes(&c->warp[k]);
  return all;
}

void wake_block(Cta *c) {
  c->dozing = false;
  for (u32 k = 0; k < c->warps; k++) wake(&c->warp[k]);
}
