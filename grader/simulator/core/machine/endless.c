/* Finds loops that never end, long before the limit of steps.
 *
 * Of a loop whose branches depend on registers alone, and these on nothing but each other (see
 * decode/blocks.py), a lane that comes to the header with the same values twice, and stayed inside,
 * comes again forever. Now and then the warp watches one loop for some visits of its header. The
 * registers of addresses are compared as well, so that a loop that will leave an array is not ended
 * before it does. Lanes that never leave a loop no longer run; the block ends when no other can.
 *
 * Threads that wait for each other in loops: while nothing changes that another warp may notice, each warp comes
 * to a state that it was in before, and each of its lanes that can run has run since. Then all of them repeat the
 * same forever.
 *
 * The warps of a block that complete barriers, or change its shared memory, do notice each other: such a block
 * repeats itself when all its warps and its shared memory come to a state in which all of them were at once before.
 *
 * Waits may read clocks, to sleep longer or to give up. So time is stopped where nothing else changes. If all
 * warps then repeat themselves, it leaps, up to days. Threads that repeat themselves even then wait for each other
 * and not for a time. Where a leap has any other effect, the run is void (AGAIN), and is repeated without leaps. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"

/* In steps of a warp. Watching takes time: a warp that goes on for long is watched less often. */
enum { FIRST_WATCH = 1 << 13, LONGEST_PAUSE = 1 << 20, LONGEST_WATCH = 1 << 17,
       VISITS = 64 }; /* of the header by the lanes of one watch */

void start_loop_watch(Warp *w) {
  LoopWatch *v = &w->watch;
  v->at = v->pause = FIRST_WATCH;
  v->loop = v->lanes = v->attempts = v->endless = 0;
}

static void end_watch(Warp *w) {
  LoopWatch *v = &w->watch;
  v->loop = 0;
  v->at = w->steps + v->pause;
  if (v->pause < LONGEST_PAUSE) v->pause *= 2;
}

/* Watches a loop that the block is in: at each attempt the next one outward, then the innermost again. */
static bool begin_watch(Warp *w, u32 frame, u32 block) {
  LoopWatch *v = &w->watch;
  const Loop *loops = w->launch->loop;
  u32 depth = 0, number = w->launch->block[block].loop;
  for (u32 k = number; k; k = loops[k - 1].outer) depth++;
  if (!depth) return false;
  for (u32 k = v->attempts++ % depth; k; k--) number = loops[number - 1].outer;
  v->loop = number;
  v->frame = frame;
  v->lanes = w->mask;
  v->seen = v->visits = 0;
  v->at = w->steps;
  return true;
}

/* Compares the state of some lanes with what was saved, and saves that of others. Returns those that
 * are equal. A predicate is a mask of lanes; of other registers each lane has its own bytes. */
static u32 compare_state(Warp *w, const Loop *loop, u32 compared, u32 saved) {
  const u8 *registers = w->arena + w->frame[w->watch.frame].registers;
  u8 *kept = w->watch.state;
  for (u32 k = 0; k < loop->states; k++) {
    const State *s = &w->launch->state[loop->state + k];
    const u8 *now = registers + s->at;
    if (s->bytes == sizeof(u32)) {
      u32 bits, before;
      memcpy(&bits, now, sizeof bits);
      memcpy(&before, kept, sizeof before);
      compared &= ~(bits ^ before);
      before = (before & ~saved) | (bits & saved);
      memcpy(kept, &before, sizeof before);
    } else {
      u32 bytes = s->bytes / LANES;
      for (u32 left = compared | saved; left; left &= left - 1) {
        u32 l = first_lane(left), from = l * bytes;
        if (saved >> l & 1) memcpy(kept + from, now + from, bytes);
        else if (memcmp(kept + from, now + from, bytes)) compared &= ~(1u << l);
      }
    }
    kept += s->bytes;
  }
  return compared;
}

static bool reserve_state(Warp *w, const Loop *loop) {
  LoopWatch *v = &w->watch;
  u32 want = 0;
  for (u32 k = 0; k < loop->states; k++) want += w->launch->state[loop->state + k].bytes;
  if (want <= v->room) return true;
  u8 *p = realloc(v->state, want);
  if (!p) return false;
  v->state = p;
  v->room = want;
  return true;
}

/* Whether a block is outside a loop, or may leave the function: its next call is another loop. */
static bool leaves(const Warp *w, const Loop *loop, u32 block) {
  u32 kind = w->launch->block[block].kind;
  return block < loop->first || block > loop->last || kind == RETURN || kind == EXIT;
}

/* Called before a block runs. Returns true when none of the warp's active lanes goes on. */
bool find_endless(Warp *w, u32 frame, u32 block) {
  LoopWatch *v = &w->watch;
  if (!v->loop && !begin_watch(w, frame, block)) return false;
  const Loop *loop = &w->launch->loop[v->loop - 1];
  u32 mine = frame == v->frame ? w->mask & v->lanes : 0;
  if (mine && leaves(w, loop, block)) v->lanes &= ~mine;
  if (!v->lanes || w->steps > v->at + LONGEST_WATCH || !reserve_state(w, loop)) {
    end_watch(w);
    return false;
  }
  if (!mine || block != loop->first) return false;
  u32 endless = compare_state(w, loop, mine & v->seen, mine & ~v->seen);
  v->lanes &= ~endless;
  v->seen |= mine;
  if (!v->lanes || ++v->visits > VISITS) end_watch(w);
  if (!endless) return false;
  v->endless |= endless;
  v->pc = loop->pc;
  if (endless == w->mask) return true;
  set_mask(w, w->mask & ~endless);
  return false;
}

/* Ends the launch if a warp has lanes that never leave a loop. */
bool abort_endless(Cta *c) {
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    if (!w->watch.endless) continue;
    set_mask(w, w->watch.endless);
    fail(w, TIMEOUT, w->watch.pc, 1);
    return true;
  }
  return false;
}

/* Looks begin after so many turns of blocks in which nothing changed, where turns are long after fewer; more state
 * than this is not compared. */
enum { QUIET = 64, LONG_QUIET = 4, MOST_STATE = 1 << 18, MOST_IN_VAIN = 7, FIRST_LOOKS = 16 };
/* Turns of all blocks without a change after which time is stopped: a loop that measures short times without a store
 * in all of them hardly notices. Turns for which it is, unless all repeat themselves; leaps, and the bits of cycles by which each is longer. */
enum { TIMED_QUIET = 512, STOPPED_TURNS = 24, LEAPS = 3, LEAP_BITS = 17 };

/* What decides what a warp does next, but for memory that others may change. */
typedef struct { u32 frames, waits, exited, arena, local, params; } Extent;

/* False where there is too much of it, or copies are in flight. */
static bool extent_of(const Warp *w, Extent *e) {
  *e = (Extent){.frames = w->frames, .waits = w->waits, .exited = w->exited, .arena = w->arena_used};
  for (u32 k = 0; k < w->frames; k++) {
    const Function *fn = &w->launch->function[w->frame[k].function];
    if (w->frame[k].local + fn->local > e->local) e->local = w->frame[k].local + fn->local;
    if (w->frame[k].params + fn->params > e->params) e->params = w->frame[k].params + fn->params;
  }
  return !w->copies && w->arena_used + (u64)LANES * (e->local + e->params) <= MOST_STATE;
}

/* Calls f with each part of the state until it returns false. */
static bool each_part(const Warp *w, const Extent *e, bool (*f)(u8 **kept, const void *now, size_t bytes), u8 *kept) {
  bool on = f(&kept, e, sizeof *e) && f(&kept, w->frame, e->frames * sizeof *w->frame) &&
            f(&kept, w->wait, e->waits * sizeof *w->wait) && f(&kept, w->arena, e->arena);
  for (u32 l = 0; on && e->local && l < LANES; l++) on = f(&kept, w->local + (size_t)l * w->local_room, e->local);
  return on && (!e->params || f(&kept, w->params, (size_t)LANES * e->params));
}

static bool is_kept(u8 **kept, const void *now, size_t bytes) {
  const u8 *before = *kept;
  *kept += bytes;
  return !memcmp(before, now, bytes);
}

static bool keep(u8 **kept, const void *now, size_t bytes) {
  memcpy(*kept, now, bytes);
  *kept += bytes;
  return true;
}

/* Of a warp that goes on the first register that changed mostly tells, so that the state itself is kept to be compared:
 * a hash of it would read all at each look. */
static void keep_state(Warp *w, const Extent *e) {
  Repetition *r = &w->repetition;
  u32 want = (u32)(sizeof *e + e->frames * sizeof *w->frame + e->waits * sizeof *w->wait) + e->arena +
             LANES * (e->local + e->params);
  if (want > r->room) {
    u8 *p = realloc(r->state, want);
    if (!p) return;
    r->state = p;
    r->room = want;
  }
  each_part(w, e, keep, r->state);
  r->kept = true;
  r->ran = 0;
}

/* The lanes that can go on unless other lanes or warps do something. */
static u32 running_lanes(const Warp *w) {
  u32 lanes = live_lanes(w) & ~w->watch.endless;
  for (u32 n = 0; n < w->waits; n++)
    if (!w->wait[n].membership || !members_arrived(w, &w->wait[n])) lanes &= ~w->wait[n].mask;
  return lanes;
}

/* What makes a state that was kept useless: time that passed is a change, too. */
static u64 stamp(const Worker *k) { return k->changes + k->still.reads + k->still.stops + 1; }

static void stop_time(Stillness *s) {
  s->stopped = true;
  s->stops++;
  s->turns = 0;
}

static void undo_leaps(Worker *k) { k->stop = k->team->again = true; }

/* Whether it is worth the time to look: after twice as many quiet turns each time when looks ended with a change, as in
 * a grid whose blocks compute for long. */
static bool is_quiet(const Worker *k) {
  const Stillness *s = &k->still;
  if (!k->launch->schedule && !k->launch->may_wait) return s->quiet > LONG_QUIET;
  return s->quiet > (u32)QUIET << (s->stopped ? 0 : s->in_vain);
}

/* Counts turns in which nothing changed but time, and stops time after some of them, if a clock was read; it goes
 * on where that shows nothing, and is stopped again after twice as many. */
static void count_quiet(Worker *k) {
  Stillness *s = &k->still;
  bool timed = k->launch->leaps && s->reads != s->reads_before;
  if (s->change != k->changes) {
    if (s->leaps) undo_leaps(k);
    u32 in_vain = s->in_vain + (is_quiet(k) && s->in_vain < MOST_IN_VAIN);
    *s = (Stillness){.change = k->changes, .next = TIMED_QUIET, .reads = s->reads, .reads_before = s->reads,
                     .stops = s->stops, .leapt = s->leapt, .leaps = s->leaps, .in_vain = in_vain};
    return;
  }
  if (s->quiet < UINT32_MAX / 2) s->quiet++;
  if (s->stopped && ++s->turns > STOPPED_TURNS * places(k)) {
    if (s->leaps) undo_leaps(k);
    s->stopped = false;
    s->next = 2 * s->quiet;
  } else if (!s->stopped && s->quiet > s->next && timed) {
    stop_time(s);
  }
}

/* Whether time, which was stopped, leaps: no wait is known to be endless before the longest leap. */
bool leap(Worker *k) {
  Stillness *s = &k->still;
  bool leaps = s->stopped && s->leaps < LEAPS;
  if (leaps) {
    s->leapt += (1ull << LEAP_BITS * ++s->leaps) + 1;
    stop_time(s);
  } else {
    s->leaps = 0; /* they had no effect */
  }
  return leaps;
}

static u64 stamp_of_block(const Cta *c) { return stamp(c->worker) + c->changes + c->passes; }

/* Counts a look; whether twice as many were since the last kept state. What blocks compute in short turns ends soon. */
static bool is_next(const Launch *n, Repetition *r) {
  r->looks++;
  return r->looks >= (n->may_wait ? FIRST_LOOKS : 1) && !(r->looks & (r->looks - 1));
}

static void look_at_warp(Warp *w) {
  Repetition *r = &w->repetition;
  Extent now;
  bool first = r->change != stamp_of_block(w->cta);
  if ((!first && r->repeats) || !extent_of(w, &now)) return;
  if (first) *r = (Repetition){.change = stamp_of_block(w->cta), .state = r->state, .room = r->room};
  r->repeats = r->kept && !(running_lanes(w) & ~r->ran) && each_part(w, &now, is_kept, r->state);
  if (!r->repeats && is_next(w->launch, r)) keep_state(w, &now);
}

static bool is_block_kept(Cta *c) {
  Repetition *all = &c->all;
  u8 *kept = all->state;
  bool same = all->kept && is_kept(&kept, c->arrived, sizeof c->arrived) &&
              is_kept(&kept, c->shared, c->worker->launch->shared_bytes);
  for (u32 x = 0; x < c->warps && same; x++) {
    Warp *w = &c->warp[x];
    Extent now;
    same = extent_of(w, &now) && !(running_lanes(w) & ~w->repetition.ran) &&
           each_part(w, &now, is_kept, w->repetition.state);
  }
  return same;
}

static void keep_block(Cta *c) {
  Repetition *all = &c->all;
  u32 shared = c->worker->launch->shared_bytes, want = sizeof c->arrived + shared;
  u8 *kept = all->state;
  if (want > all->room) kept = realloc(all->state, want);
  if (!kept) return;
  all->state = kept;
  if (want > all->room) all->room = want;
  keep(&kept, c->arrived, sizeof c->arrived);
  keep(&kept, c->shared, shared);
  all->kept = true;
  for (u32 x = 0; x < c->warps; x++) {
    Warp *w = &c->warp[x];
    Extent now;
    w->repetition.change = 0;
    w->repetition.kept = false;
    if (extent_of(w, &now)) keep_state(w, &now);
    all->kept &= w->repetition.kept;
  }
}

/* While warps notice each other; see the top. */
static void look_at_block(Cta *c) {
  Repetition *all = &c->all;
  u64 change = stamp(c->worker);
  if (all->change != change) *all = (Repetition){.change = change, .state = all->state, .room = all->room};
  if (all->repeats) return;
  all->repeats = is_block_kept(c);
  if (!all->repeats && (!all->kept || is_next(c->worker->launch, all))) keep_block(c);
}

/* At the end of a block's turn; `last`: no block can start, which would be a change. The state that others are
 * compared with is a newer one each time when twice as many were: the first ones may be on the way to the loop. */
void watch_repetition(Cta *c, bool last) {
  Worker *k = c->worker;
  count_quiet(k);
  const Stillness *s = &k->still;
  bool still = s->stopped || s->reads == s->reads_before;
  if (!last || !still || !is_quiet(k)) return;
  u64 moved = c->changes + c->passes;
  if (c->looked != moved) look_at_block(c);
  else c->all.kept = false;
  for (u32 x = 0; x < c->warps && c->looked == moved; x++) look_at_warp(&c->warp[x]);
  c->looked = moved;
}

bool repeats_itself(const Cta *c) {
  u64 change = stamp(c->worker), own = stamp_of_block(c);
  if (c->all.repeats && c->all.change == change) return true;
  bool all = true;
  for (u32 x = 0; x < c->warps && all; x++)
    all = c->warp[x].repetition.repeats && c->warp[x].repetition.change == own;
  return all;
}
