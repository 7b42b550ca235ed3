/* Barrier divergence: threads of a block at different barriers, at a barrier that others never reach, or
 * outside the member mask that they name. Threads that exited before a barrier are an early exit, which
 * is legal, and is reported as a remark. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "watch/findings.h"

/* By warp: the barrier that each lane last left, as its pc + 1; `all` where it is the same one. */
typedef struct { u32 all, lane[LANES]; } Passed;

/* In the flags of BARRIER_COUNT; 2 is that of mbarriers.c. */
enum { OTHER_COUNT = 1, ARRIVES = 4 };

/* The first thread of those that came to a barrier with a count, which is 0 if none came. */
typedef struct { u32 pc, thread, count; } Use;

/* By barrier, those that came by bar.arrive: since it completed last, and with another count than those; with a
 * count with which no thread has waited yet. The counts with which threads waited, a bit for each number of
 * warps; the last of these threads. */
typedef struct { Use here, other, unmet, wait; u32 waited; } Arrivals;

typedef struct { Arrivals at[MAX_BARRIERS]; Passed passed[]; } Barriers;
static Barriers *barriers_of(const Cta *c) { return c->state[barriers_slot]; }
static Passed *passed_of(const Cta *c) { return barriers_of(c)->passed; }
static size_t bytes_of(const Cta *c) { return sizeof(Barriers) + c->warps * sizeof(Passed); }

static void make(Cta *c) {
  c->state[barriers_slot] = calloc(1, bytes_of(c));
  if (!barriers_of(c)) out_of_memory(c->worker);
}
static void reset(Cta *c) { memset(barriers_of(c), 0, bytes_of(c)); }
static void discard(Cta *c) { free(barriers_of(c)); }

/* Where threads wait: the first wait, and the first one elsewhere, NULL if there is none; whether one of
 * them names a count, or is CUDA's own. */
typedef struct { const Wait *first, *other; u32 thread, other_thread; bool counted, of_block; } Places;

static void report_divergence(Cta *c, u32 kind, Places p) {
  const Wait *other = p.other ? p.other : p.first;
  report(c->worker, (Report){.kind = kind, .pc = p.first->pc, .pc2 = other->pc, .block = c->number,
                             .block2 = c->number, .thread = p.thread, .thread2 = p.other_thread,
                             .count = 1});
}

static u32 first_thread(const Warp *w, const Wait *x) { return thread_of(w, first_lane(x->mask)); }

static Places places_at(const Cta *c, u32 id) {
  Places p = {.first = NULL};
  for (u32 k = 0; k < c->warps; k++)
    for (u32 n = 0; n < c->warp[k].waits; n++) {
      const Wait *x = &c->warp[k].wait[n];
      if (!leaves_barrier(x, id)) continue;
      p.counted |= x->want != 0;
      p.of_block |= (x->kind & BAR_OF_BLOCK) != 0;
      if (!p.first) {
        p.first = x;
        p.thread = first_thread(&c->warp[k], x);
      } else if (!p.other && x->pc != p.first->pc) {
        p.other = x;
        p.other_thread = first_thread(&c->warp[k], x);
      }
    }
  return p;
}

/* Threads that exited: `extra` when some were at this barrier last, while the others come to it again;
 * otherwise they never came to it. */
static void report_early_exit(const Cta *c, u32 pc) {
  Report r = {.kind = EARLY_EXIT, .pc = pc, .block = c->number, .count = 0};
  for (u32 k = 0; k < c->warps && !r.extra; k++) {
    const Warp *w = &c->warp[k];
    for (u32 m = w->exited; m && !r.extra; m &= m - 1) {
      u32 l = first_lane(m);
      const Passed *p = &passed_of(c)[k];
      r.extra = (p->all ? p->all : p->lane[l]) == pc + 1;
      if (r.extra || !r.count) r.thread = thread_of(w, l);
      r.count = 1;
    }
  }
  r.pc2 = r.extra ? pc : 0; /* makes the two cases different reports */
  if (r.count) report(c->worker, r);
}

static void note_passed(Cta *c, u32 id) {
  for (u32 k = 0; k < c->warps; k++) {
    Passed *p = &passed_of(c)[k];
    for (u32 n = c->warp[k].waits; n-- > 0;) {
      const Wait *x = &c->warp[k].wait[n];
      if (!leaves_barrier(x, id)) continue;
      u32 mask = x->mask, left = x->pc + 1, all = p->all, *lane = p->lane;
      p->all = mask == c->warp[k].valid ? left : 0;
      if (p->all) continue;
      EACH_LANE { lane[l] = mask >> l & 1 ? left : all ? all : lane[l]; }
    }
  }
}

/* The count of a barrier that names none is that of all warps. */
static u32 count_of(const Cta *c, u32 named) { return named ? named : (c->nthreads + LANES - 1) / LANES * LANES; }
static u32 bit_of(u32 count) { return 1u << ((count - 1) / LANES & 31); }

static void note_arrival(Warp *w, u32 pc, u32 id, u32 mask, u32 count) {
  Arrivals *a = &barriers_of(w->cta)->at[id];
  Use use = {pc, thread_of(w, first_lane(mask)), count_of(w->cta, count)};
  if (!a->here.count) a->here = use;
  else if (!a->other.count && a->here.count != use.count) a->other = use;
  if (!a->unmet.count && !(a->waited & bit_of(use.count))) a->unmet = use;
}

static void report_counts(Cta *c, Use wait, Use arrival) {
  report(c->worker, (Report){.kind = BARRIER_COUNT, .pc = wait.pc, .pc2 = arrival.pc, .block = c->number,
                             .block2 = c->number, .thread = wait.thread, .thread2 = arrival.thread, .count = 1,
                             .size = wait.count, .flags = OTHER_COUNT | ARRIVES, .extra = arrival.count});
}

/* Whether threads have arrived for those that wait with a count, and named another one. */
static bool check_arrivals(Cta *c, u32 id, Use wait) {
  Arrivals *a = &barriers_of(c)->at[id];
  Use odd = a->here.count == wait.count ? a->other : a->here;
  if (!odd.count) return false;
  report_counts(c, wait, odd);
  a->unmet.count = 0;
  return true;
}

static void note_completed(Cta *c, u32 id, Use wait) {
  Arrivals *a = &barriers_of(c)->at[id];
  a->here.count = a->other.count = 0;
  if (a->unmet.count == wait.count) a->unmet.count = 0;
  a->waited |= bit_of(wait.count);
  a->wait = wait;
}

/* Threads that arrive with a count with which none waits: which those that wait with another count meet is a
 * question of the order, also where none arrived before they went on. */
static void check_unmet(Cta *c) {
  for (u32 id = 0; id < MAX_BARRIERS; id++) {
    const Arrivals *a = &barriers_of(c)->at[id];
    if (a->unmet.count && a->wait.count) report_counts(c, a->wait, a->unmet);
  }
}

/* Threads that name different counts, or more of them than the count. A count of one warp completes with
 * each warp. `extra`: the threads that arrived. */
static void check_counts(Cta *c, u32 id, const Wait *first) {
  u32 threads = c->arrived[id];
  const Wait *other = NULL;
  for (u32 k = 0; k < c->warps; k++) {
    u32 here = 0, live = live_lanes(&c->warp[k]);
    for (u32 n = 0; n < c->warp[k].waits; n++) {
      const Wait *x = &c->warp[k].wait[n];
      if (x->membership || x->id != id) continue;
      here |= x->mask;
      if (x->want != first->want) other = x;
    }
    threads += here && here == live ? LANES : (u32)__builtin_popcount(here);
  }
  u32 want = count_of(c, first->want), second = other ? count_of(c, other->want) : want;
  if (second == want && (!first->want || threads <= want || want == LANES)) return;
  report(c->worker, (Report){.kind = BARRIER_COUNT, .pc = first->pc, .pc2 = other ? other->pc : first->pc,
                             .block = c->number, .count = 1, .size = want, .flags = other ? OTHER_COUNT : 0,
                             .extra = other ? second : threads});
}

/* An aligned barrier that lanes of one warp execute at different places. Warps may do so at one that counts,
 * and by inline assembly. */
static void check_aligned(Cta *c, u32 id) {
  for (u32 k = 0; k < c->warps; k++) {
    const Warp *w = &c->warp[k];
    const Wait *first = NULL;
    for (u32 n = 0; n < w->waits; n++) {
      const Wait *x = &w->wait[n];
      if (!leaves_barrier(x, id) || !(x->kind & BAR_ALIGNED)) continue;
      if (!first) { first = x; continue; }
      if (x->pc == first->pc) continue;
      report(c->worker, (Report){.kind = DIVERGENCE, .flags = WITHIN_WARP, .pc = first->pc, .pc2 = x->pc,
                                 .block = c->number, .block2 = c->number, .thread = first_thread(w, first),
                                 .thread2 = first_thread(w, x), .count = 1});
      return;
    }
  }
}

/* Barriers that count their threads may be executed at different places, or by some threads alone; those of
 * inline assembly at different places. */
static void check_completed(Cta *c, u32 id, bool full) {
  (void)full;
  Places p = places_at(c, id);
  Use wait = {p.first->pc, p.thread, count_of(c, p.first->want)};
  u32 alive = 0;
  if (!check_arrivals(c, id, wait) && p.counted) check_counts(c, id, p.first);
  bool apart = !p.first->want && p.other && p.of_block && p.first->kind & BAR_ALIGNED;
  if (p.counted || (p.other && !apart)) check_aligned(c, id);
  for (u32 k = 0; k < c->warps; k++) alive += (u32)__builtin_popcount(live_lanes(&c->warp[k]));
  if (apart) report_divergence(c, DIVERGENCE, p);
  if (!p.first->want && alive < c->nthreads) report_early_exit(c, p.first->pc);
  note_passed(c, id);
  note_completed(c, id, wait);
}

static void report_deadlock(Cta *c) {
  Places p = {.first = NULL};
  for (u32 k = 0; k < c->warps; k++)
    for (u32 n = 0; n < c->warp[k].waits; n++) {
      const Wait *x = &c->warp[k].wait[n];
      Use wait = {x->pc, first_thread(&c->warp[k], x), count_of(c, x->want)};
      if (!x->membership) check_arrivals(c, x->id, wait);
      if (!p.first) {
        p.first = x;
        p.thread = p.other_thread = first_thread(&c->warp[k], x);
      } else if (!p.other && (x->pc != p.first->pc || x->id != p.first->id)) {
        p.other = x;
        p.other_thread = first_thread(&c->warp[k], x);
      }
    }
  if (p.first) report_divergence(c, DEADLOCK, p);
}

static void report_stuck(Warp *w) {
  Places p = {.first = NULL};
  for (u32 n = 0; n < w->waits; n++) {
    const Wait *x = &w->wait[n];
    if (!x->membership) p.other = p.other ? p.other : x;
    else if (!p.first) p.first = x;
    else if (x->pc != p.first->pc) p.other = x;
  }
  p.thread = first_thread(w, p.first);
  p.other_thread = p.other ? first_thread(w, p.other) : w->base;
  report_divergence(w->cta, WARP_STUCK, p);
}

static void report_members_exited(Warp *w, u32 pc, u32 lanes) {
  report(w->worker, (Report){.kind = EARLY_EXIT, .pc = pc, .block = w->cta->number, .count = 1,
                             .thread = thread_of(w, first_lane(lanes))});
}

static void report_outside_mask(Warp *w, u32 pc, u32 lanes, u32 members) {
  report(w->worker, (Report){.kind = WARP_MASK, .pc = pc, .block = w->cta->number,
                             .count = (u64)__builtin_popcount(lanes),
                             .thread = thread_of(w, first_lane(lanes)), .extra = members});
}

/* extra: the lane that does not provide its value, and << 8: 1 where it has exited, 2 where it is not in
 * the mask of the lane that reads it. */
static void report_lane_missing(Warp *w, u32 pc, u32 lane, u32 from) {
  u32 why = w->exited >> from & 1 ? 1 : w->mask >> from & 1 ? 2 : 0;
  report(w->worker, (Report){.kind = LANE_MISSING, .pc = pc, .flags = why, .block = w->cta->number,
                             .count = 1, .thread = thread_of(w, lane), .extra = from | why << 8});
}

static void report_misuse(Warp *w, u32 pc, u32 lane, u32 why, u32 value) {
  report(w->worker, (Report){.kind = MISUSED, .pc = pc, .block = w->cta->number, .count = 1,
                             .thread = thread_of(w, lane), .extra = why, .size = value});
}

const Watcher barriers_watcher = {
    .blocks = FULL_BLOCKS, .block_created = make, .block_started = reset, .block_ended = check_unmet,
    .block_destroyed = discard, .barrier_arrived = note_arrival, .barrier_completed = check_completed, .deadlock = report_deadlock, .warp_stuck = report_stuck,
    .lane_missing = report_lane_missing, .misused = report_misuse,
    .members_exited = report_members_exited, .outside_mask = report_outside_mask};
