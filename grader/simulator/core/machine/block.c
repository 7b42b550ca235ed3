/* Run one block of threads: its memory, the turns of its warps, and what follows when none can run.
 *
 * Each warp runs until its lanes wait, end, or have used up their time slice. When all warps wait,
 * complete barriers release their threads. When no barrier is complete, lanes are released that wait
 * for members of their mask that cannot arrive; after that the block is deadlocked. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/memory.h"
#include "machine/proof.h"

#define SLICE (1u << 18)
enum { ROUNDS = 64 }; /* of all warps between two readings of the clock */
enum { MOST_NAMED = 16 }; /* mbarriers that a deadlock names */
enum { IDLE_BARRIERS = 8, IDLE_STEPS = 1 << 12 }; /* see idles */

/* Processor time of this thread: one that is stopped, or waits for a core, loses none of its limit. */
f64 now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (f64)t.tv_sec + 1e-9 * (f64)t.tv_nsec;
}

/* Whether the time is over; the clock is read in one of `every` calls. */
bool is_late(Worker *k, u32 every) {
  if (!k->late && ++k->looks % every == 0) k->late = now() > k->deadline;
  return k->late;
}

static void lane_numbers(Warp *w, u32 slot, u32 (*f)(const Launch *, u32, u32)) {
  u32 *d = (u32 *)(w->special + slot * 128);
  for (u32 l = 0; l < LANES; l++) d[l] = f(w->launch, w->base + l, l);
}
static u32 tid_x(const Launch *n, u32 t, u32 l) { (void)l; return t % n->dim[0]; }
static u32 tid_y(const Launch *n, u32 t, u32 l) { (void)l; return t / n->dim[0] % n->dim[1]; }
static u32 tid_z(const Launch *n, u32 t, u32 l) { (void)l; return t / n->dim[0] / n->dim[1]; }
static u32 lane_id(const Launch *n, u32 t, u32 l) { (void)n; (void)t; return l; }
static u32 warp_id(const Launch *n, u32 t, u32 l) { (void)n; (void)l; return t / LANES; }
static u32 mask_eq(const Launch *n, u32 t, u32 l) { (void)n; (void)t; return 1u << l; }
static u32 mask_lt(const Launch *n, u32 t, u32 l) { (void)n; (void)t; return (1u << l) - 1; }
static u32 mask_le(const Launch *n, u32 t, u32 l) { (void)n; (void)t; return (2u << l) - 1; }
static u32 mask_gt(const Launch *n, u32 t, u32 l) { (void)n; (void)t; return ~((2u << l) - 1); }
static u32 mask_ge(const Launch *n, u32 t, u32 l) { (void)n; (void)t; return ~((1u << l) - 1); }

/* In the order of SPECIAL in decode.py. */
static void special_registers(Warp *w) {
  u32 (*const f[])(const Launch *, u32, u32) = {tid_x, tid_y, tid_z, lane_id, warp_id,
                                               mask_eq, mask_lt, mask_le, mask_gt, mask_ge};
  for (u32 k = 0; k < sizeof f / sizeof *f; k++) lane_numbers(w, k, f[k]);
}
enum { CTAID = 10 };

void free_cta(Cta *c) {
  if (!c) return;
  for (u32 k = 0; c->warp && k < c->warps; k++) {
    free(c->warp[k].arena);
    free(c->warp[k].local);
    free(c->warp[k].params);
    free(c->warp[k].watch.state);
    free(c->warp[k].repetition.state);
  }
  free(c->all.state);
  announce_block_destroyed(c);
  free_copies(c);
  free(c->shared);
  free(c->warp);
  free(c);
}

static void set_up_warp(Cta *c, u32 index) {
  Warp *w = &c->warp[index];
  const Launch *n = c->worker->launch;
  u32 threads = c->nthreads - index * LANES;
  w->worker = c->worker; w->cta = c; w->launch = n; w->index = index; w->base = index * LANES;
  w->valid = threads >= LANES ? FULL : (1u << threads) - 1;
  w->bank[1] = (u8 *)n->constants;
  w->bank[2] = w->special;
  w->bank[3] = (u8 *)w->part;
  w->mask = 0;
  special_registers(w);
}

/* Memory for a block, which runs one block after the other. NULL without memory. */
Cta *new_cta(Worker *k) {
  const Launch *n = k->launch;
  Cta *c = calloc(1, sizeof *c);
  if (!c) { out_of_memory(k); return NULL; }
  c->worker = k;
  c->nthreads = n->dim[0] * n->dim[1] * n->dim[2];
  c->warps = (c->nthreads + LANES - 1) / LANES;
  c->shared = calloc(1, n->shared_bytes ? n->shared_bytes : 1);
  c->warp = aligned_alloc(64, (sizeof(Warp) + 63) / 64 * 64 * c->warps);
  if (c->warp) memset(c->warp, 0, sizeof(Warp) * c->warps);
  if (!c->shared || !c->warp) out_of_memory(k);
  else announce_block_created(c);
  if (k->stop) { free_cta(c); return NULL; }
  for (u32 x = 0; x < c->warps; x++) set_up_warp(c, x);
  return c;
}

/* A warp that waits for a phase of an mbarrier, if one does: what it waits for is known. */
static u32 first_to_name(const Cta *c, u32 kind) {
  for (u32 k = 0; (kind == STANDSTILL || kind == LIMIT) && k < c->warps; k++)
    if (c->warp[k].tested) return k;
  return 0;
}

/* Ends the launch with a fault at the basic block that some lanes would run next; false where all of them wait. */
static bool abort_lanes(Warp *w, u32 kind, u32 lanes) {
  for (u32 f = w->frames; f-- > 0;) {
    const Frame *fr = &w->frame[f];
    if (!fr->pending_blocks) continue;
    const u32 *m = (const u32 *)(w->arena + fr->masks);
    u32 at = 0, blocks = w->launch->function[fr->function].blocks;
    while (at < blocks && !(m[at] & lanes)) at++;
    if (at == blocks) continue;
    set_mask(w, m[at] & lanes);
    const BasicBlock *b = &w->launch->block[w->launch->function[fr->function].block + at];
    bool back = b->kind == BRANCH && b->target <= at; /* the line of the loop */
    fail(w, kind, back || b->end == b->first ? b->pc : w->launch->insn[b->first].pc, 0);
    return true;
  }
  return false;
}

/* A fault for each mbarrier that lanes wait for: one may be the cause of the others. False where there is none. */
static bool name_mbarriers(Cta *c) {
  u32 known[MOST_NAMED], named = 0;
  for (u32 x = 0; x < c->warps; x++) {
    Warp *w = &c->warp[x];
    for (u32 left = live_lanes(w), l; left && named < MOST_NAMED; left &= left - 1) {
      u32 of = w->awaits[l = first_lane(left)], same = 0, k = 0;
      while (k < named && known[k] != of) k++;
      for (u32 m = left; m; m &= m - 1) same |= (u32)(w->awaits[first_lane(m)] == of) << first_lane(m);
      u32 before = w->tested;
      w->tested = of;
      if (of && k == named && abort_lanes(w, STANDSTILL, same)) known[named++] = of;
      w->tested = before;
    }
  }
  return named;
}

/* Ends the launch with a fault of the first warp that can run, or, when all warps wait, at the place where one waits. */
void abort_cta(Cta *c, u32 kind) {
  Warp *waiting = c->warp;
  u32 first = first_to_name(c, kind);
  if (kind == STANDSTILL && name_mbarriers(c)) return;
  for (u32 x = 0; x < c->warps; x++) {
    Warp *w = &c->warp[(first + x) % c->warps];
    if (w->waits && !waiting->waits) waiting = w;
    if (abort_lanes(w, kind, FULL)) return;
  }
  if (waiting->waits) set_mask(waiting, waiting->wait[0].mask);
  fail(waiting, kind, waiting->waits ? waiting->wait[0].pc : 0, 0);
}

void start_cta(Cta *c, u64 number) {
  const Launch *n = c->worker->launch;
  c->number = (u32)number;
  c->at[0] = (u32)(number % n->grid[0]);
  c->at[1] = (u32)(number / n->grid[0] % n->grid[1]);
  c->at[2] = (u32)(number / n->grid[0] / n->grid[1]);
  if (c->worker->team->proof) start_in_proof(c);
  c->steps = c->barriers = c->time = c->clock = 0;
  c->idle = 0;
  c->dozing = false;
  c->idle_from = c->looks = c->looks_outside = c->all.change = 0;
  memset(c->shared, 0xA5, n->shared_bytes);
  for (u32 at = 0; n->unset && at < n->shared_bytes; at++) c->shared[at] = (u8)(given_value(n, at / 4) >> 8 * (at % 4));
  memset(c->arrived, 0, sizeof c->arrived);
  memset(c->late, 0, sizeof c->late);
  start_copies(c);
  announce_block_started(c);
  for (u32 x = 0; x < c->warps; x++) {
    Warp *w = &c->warp[x];
    for (u32 d = 0; d < 3; d++) {
      u32 *lanes = (u32 *)(w->special + (CTAID + d) * 128), at = c->at[d];
      EACH_LANE { lanes[l] = at; }
    }
    w->launch = code_of(c);
    w->owner = LOCAL_MARK | ((u64)(c->number % OWNED_BLOCKS * MAX_BLOCK_THREADS + w->base) << OWNER_SHIFT);
    start_warp(w, n->entry);
  }
}

/* A hash. Another schedule is another legal order of warps and blocks: from another start, or backwards. */
u32 mixed(u32 a, u32 b, u32 c) {
  u64 x = (((u64)a << 32 | b) + 1) * 0x9E3779B97F4A7C15ull + c;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return (u32)(x >> 32);
}
static u32 warp_in_turn(const Cta *c, u32 x, u32 round) {
  const Launch *n = c->worker->launch;
  u32 schedule = n->schedule, r = mixed(schedule, c->number, round);
  if (!schedule) return x;
  if (is_of_kind(n, PATIENT)) return is_backward(n) ? c->warps - 1 - x : x;
  return (r & 1 ? c->warps - 1 - x + r / 2 % c->warps : x + r / 2 % c->warps) % c->warps;
}
/* Whether all warps of a block wait in loops for what none of them does; of blocks that wait for each other all
 * must: see launch.c. */
static bool stands_still(Cta *c) {
  const Launch *n = c->worker->launch;
  if (!n->exact || n->may_wait || c->worker->paused) return false;
  watch_repetition(c, true);
  return repeats_itself(c) && !leap(c->worker);
}

/* At barriers that complete: whether the warps may wait in a loop with barriers for what another block does: they
 * look at memory that others see, and either no memory has changed at so many barriers or, for so many steps, none
 * that other blocks see. A block that waits so must not run on forever. */
static bool idles(Cta *c) {
  u64 outside = c->worker->changes, all = outside + c->changes;
  if (c->seen != all) c->idle = 0;
  if (c->seen_outside != outside) {
    c->idle_from = c->steps;
    c->looks = c->looks_outside = 0;
  }
  c->seen = all;
  c->seen_outside = outside;
  bool still = ++c->idle % IDLE_BARRIERS == 0 && c->looks;
  if (!still && !(c->looks_outside && c->steps - c->idle_from >= IDLE_STEPS)) return false;
  c->idle_from = c->steps;
  c->looks = c->looks_outside = 0;
  return true;
}

/* Runs a block until it is done, stops, or has used its time slice. */
enum Outcome run_cta(Worker *k, Cta *c, u64 slice) {
  const Launch *n = k->launch;
  u64 until = c->steps + slice, look = c->steps + SLICE;
  for (u32 round = 1;; round++) {
    if (c->steps > n->step_limit) { abort_cta(c, TIMEOUT); return STOPPED; }
    bool pausing = k->paused && k->paused->cta == c, turning = pausing, waiting = false;
    u64 longest = 0;
    c->timed = c->dozing = false;
    u64 before = c->steps;
    for (u32 x = 0; x < c->warps && !(pausing && k->pause_ends); x++) {
      Warp *w = &c->warp[warp_in_turn(c, x, round)];
      enum Outcome o = w == k->paused || dozes(w) ? ROTATE : run_warp(w);
      if (k->paused && o == DONE) look_for_pause_end(k, w);
      if (k->paused && w != k->paused) count_pause_changes(k);
      if (o == STOPPED) return STOPPED;
      if (turn_cycles(w) > longest) longest = turn_cycles(w);
      turning |= o == ROTATE;
      waiting |= o == BLOCKED;
    }
    if (c->steps > look || k->late || n->exact || round % ROUNDS == 0) { /* exact rounds can be long */
      look = c->steps + SLICE;
      if (__atomic_load_n(&k->team->stop, __ATOMIC_RELAXED)) return STOPPED;
      if (is_late(k, 1)) { abort_cta(c, LIMIT); k->team->late = true; return STOPPED; }
    }
    c->time += longest; /* the warps ran at the same time */
    if (turning) {
      bool any = waiting && release_barriers(c); /* of some threads: others may wait in a loop for what these do next */
      if (stands_still(c)) { abort_cta(c, STANDSTILL); return STOPPED; }
      c->dozing = !any && c->steps == before;
      if (c->dozing && n->may_wait) return ROTATE;
      if (c->dozing) wake_block(c);
      if (c->steps > until || (c->timed && n->may_wait) || pausing) return ROTATE;
      continue;
    }
    if (!waiting) break;
    if (release_barriers(c)) {
      if (!n->exact || !idles(c)) continue;
      if (stands_still(c)) { abort_cta(c, STANDSTILL); return STOPPED; }
      if (n->may_wait && !n->schedule) return ROTATE;
      continue;
    }
    if (abort_endless(c)) return STOPPED;
    bool freed = false;
    for (u32 x = 0; x < c->warps && !freed; x++) freed = release_warp_waits(&c->warp[x], true);
    if (freed) continue;
    announce_deadlock(c);
    k->stop = true;
    return STOPPED;
  }
  announce_block_ended(c);
  return DONE;
}
