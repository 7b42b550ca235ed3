/* A launch: blocks handed out to threads, or run in the fixed order by one; results merged.
 *
 * Blocks of a kernel without atomics are independent, so they may run on any thread: their
 * findings, outputs and counters are the same for any number of them. Where two blocks turn out
 * to meet in memory, or one fails, the run is void (AGAIN): the caller restores the memory and
 * runs it in the fixed order. Kernels that may wait for another block run in that order from
 * the start, and a block that takes long gives way to the next. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "control.h"

enum { RESIDENT = 132 }; /* the multiprocessors of an H100: so many blocks are always resident */
#define SLICE (1u << 18)
#define SHORT_SLICE (1u << 14) /* of blocks that may wait for each other */
enum { LAST_PHASE = (1 << (32 - THREAD_BITS)) - 2 };
enum { ROUNDS = 64 }; /* of all warps between two looks at the clock */

struct Team {
  const Launch *launch;
  u64 next;
  f64 deadline;
  bool stop, again, late;
};

static f64 now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (f64)t.tv_sec + 1e-9 * (f64)t.tv_nsec;
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

/* The order of decode.py's SPECIAL registers. */
static void special_registers(Warp *w) {
  u32 (*const f[])(const Launch *, u32, u32) = {tid_x, tid_y, tid_z, lane_id, warp_id,
                                               mask_eq, mask_lt, mask_le, mask_gt, mask_ge};
  for (u32 k = 0; k < sizeof f / sizeof *f; k++) lane_numbers(w, k, f[k]);
}
enum { CTAID = 10 };

static void *zeroed(Worker *k, size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) k->stop = k->no_memory = true;
  return p;
}

static void free_cta(Cta *c) {
  if (!c) return;
  for (u32 k = 0; c->warp && k < c->warps; k++) {
    free(c->warp[k].arena);
    free(c->warp[k].local);
    free(c->warp[k].defined);
    free(c->warp[k].params);
  }
  free_flights(c);
  Shadow *s = &c->shadow;
  free(s->wrote); free(s->read1); free(s->read2);
  free(s->wrote_pc); free(s->read1_pc); free(s->read2_pc);
  free(c->shared); free(c->warp);
  free_order(c);
  free(c);
}

static Cta *new_cta(Worker *k) {
  const Launch *n = k->launch;
  Cta *c = zeroed(k, sizeof *c);
  if (!c) return NULL;
  size_t granules = (n->shared_bytes >> n->shared_shift) + 1;
  c->nthreads = n->dim[0] * n->dim[1] * n->dim[2];
  c->warps = (c->nthreads + LANES - 1) / LANES;
  c->phase = FIRST_PHASE << THREAD_BITS;
  c->shared = zeroed(k, n->shared_bytes);
  Shadow *s = &c->shadow;
  u32 **arrays[] = {&s->wrote, &s->read1, &s->read2, &s->wrote_pc, &s->read1_pc, &s->read2_pc};
  for (u32 a = 0; a < 6; a++) *arrays[a] = zeroed(k, granules * sizeof(u32));
  c->warp = aligned_alloc(64, (sizeof(Warp) + 63) / 64 * 64 * c->warps);
  if (!c->warp) k->stop = k->no_memory = true;
  else memset(c->warp, 0, sizeof(Warp) * c->warps);
  if (n->exact && !k->stop) make_order(c, k);
  if (k->stop) { free_cta(c); return NULL; }
  for (u32 x = 0; x < c->warps; x++) {
    Warp *w = &c->warp[x];
    u32 threads = c->nthreads - x * LANES;
    w->worker = k; w->cta = c; w->launch = n; w->index = x; w->base = x * LANES;
    w->valid = threads >= LANES ? FULL : (1u << threads) - 1;
    w->bank[1] = (u8 *)n->constants;
    w->bank[2] = w->special;
    w->mask = 0;
    special_registers(w);
  }
  return c;
}

/* Where the first warp that is not done has got to; when all of them wait, for what. */
static void say_timeout(Cta *c, u32 kind) {
  Warp *waiting = c->warp;
  for (u32 k = 0; k < c->warps; k++) {
    Warp *w = &c->warp[k];
    if (w->waits && !waiting->waits) waiting = w;
    for (u32 f = w->frames; f-- > 0;) {
      const Frame *fr = &w->frame[f];
      if (!fr->pending_blocks) continue;
      const u32 *m = (const u32 *)(w->arena + fr->masks);
      u32 at = 0;
      while (!m[at]) at++;
      set_mask(w, m[at]);
      const BasicBlock *b = &w->launch->block[w->launch->function[fr->function].block + at];
      bool back = b->kind == BRANCH && b->target <= at; /* the loop's own line */
      fail(w, kind, back || b->end == b->first ? b->pc : w->launch->insn[b->first].pc, 0);
      return;
    }
  }
  if (waiting->waits) set_mask(waiting, waiting->wait[0].mask);
  fail(waiting, kind, waiting->waits ? waiting->wait[0].pc : 0, 0);
}

/* Stamps have no room for more phases: what this block left behind becomes an old phase's. */
static void forget_phases(Cta *c) {
  const Launch *n = c->warp->launch;
  u32 granules = (n->shared_bytes >> n->shared_shift) + 1;
  for (u32 g = 0; g < granules; g++) {
    if (c->shadow.wrote[g] > GAP) c->shadow.wrote[g] = FIRST_PHASE;
    c->shadow.read1[g] = c->shadow.read2[g] = 0;
  }
  for (u32 b = 0; b < n->buffers; b++) forget_stamps(c, &n->buffer[b]);
  c->phase = (FIRST_PHASE + 1) << THREAD_BITS;
}

static void next_phase(Cta *c) {
  watch_phase_end(c);
  c->phase += 1u << THREAD_BITS;
  if (c->phase >> THREAD_BITS < LAST_PHASE) return;
  if (c->warp->launch->exact) say_timeout(c, LIMIT); /* order.c's clocks cannot begin again */
  else forget_phases(c);
}

void watch_barrier(Cta *c, u32 id, bool full) {
  if (c->warp->launch->exact) join_barrier(c, id, full);
  if (full) next_phase(c);
}

static void start_cta(Cta *c, u64 number) {
  const Launch *n = c->warp->launch;
  u32 granules = (n->shared_bytes >> n->shared_shift);
  c->number = (u32)number;
  c->at[0] = (u32)(number % n->grid[0]);
  c->at[1] = (u32)(number / n->grid[0] % n->grid[1]);
  c->at[2] = (u32)(number / n->grid[0] / n->grid[1]);
  c->steps = c->barriers = 0;
  if (n->exact) c->phase = FIRST_PHASE << THREAD_BITS; /* what other blocks did has their number */
  next_phase(c);
  memcpy(c->shadow.wrote, n->shared_init, granules * sizeof(u32));
  memset(c->shared, 0xA5, n->shared_bytes);
  memset(c->arrived, 0, sizeof c->arrived);
  if (n->exact) reset_order(c);
  forget_flights(c);
  for (u32 x = 0; x < c->warps; x++) {
    Warp *w = &c->warp[x];
    for (u32 d = 0; d < 3; d++) {
      u32 *lanes = (u32 *)(w->special + (CTAID + d) * 128), at = c->at[d];
      EACH_LANE { lanes[l] = at; }
    }
    start_warp(w, n->entry);
  }
}

/* Another schedule is another legal order: warps and blocks start elsewhere, or run backwards. */
static u32 mixed(u32 a, u32 b, u32 c) {
  u64 x = (((u64)a << 32 | b) + 1) * 0x9E3779B97F4A7C15ull + c;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return (u32)(x >> 32);
}
static u32 warp_in_turn(const Cta *c, u32 x, u32 round) {
  u32 schedule = c->warp->launch->schedule, r = mixed(schedule, c->number, round);
  if (!schedule) return x;
  return (r & 1 ? c->warps - 1 - x + r / 2 % c->warps : x + r / 2 % c->warps) % c->warps;
}
static u64 block_in_turn(const Launch *n, u64 x) {
  u64 r = mixed(n->schedule, 0, 0);
  if (n->chosen) return n->chosen[x];
  if (!n->schedule) return x;
  return (r & 1 ? n->block_count - 1 - x + r / 2 % n->block_count : x + r / 2) % n->block_count;
}

/* Runs a block until it is done, stops, or has had its slice. */
static enum Outcome run_cta(Worker *k, Cta *c, u64 slice) {
  const Launch *n = k->launch;
  u64 until = c->steps + slice, look = c->steps + SLICE;
  for (u32 round = 1;; round++) {
    if (c->steps > n->step_limit) { say_timeout(c, TIMEOUT); return STOPPED; }
    bool turning = false, waiting = false;
    for (u32 x = 0; x < c->warps; x++) {
      enum Outcome o = run_warp(&c->warp[warp_in_turn(c, x, round)]);
      if (o == STOPPED) return STOPPED;
      turning |= o == ROTATE;
      waiting |= o == BLOCKED;
    }
    if (c->steps > look || n->exact || round % ROUNDS == 0) { /* exact rounds can be long */
      look = c->steps + SLICE;
      if (__atomic_load_n(&k->team->stop, __ATOMIC_RELAXED)) return STOPPED;
      if (now() > k->team->deadline) { say_timeout(c, LIMIT); k->team->late = true; return STOPPED; }
    }
    if (turning) {
      if (c->steps > until) return ROTATE;
      continue;
    }
    if (!waiting) break;
    if (release_barriers(c)) continue;
    bool freed = false;
    for (u32 x = 0; x < c->warps && !freed; x++) freed = release_warp_waits(&c->warp[x], true);
    if (freed) continue;
    say_deadlock(c);
    k->stop = true;
    return STOPPED;
  }
  watch_phase_end(c);
  return DONE;
}

/* Every block in turn on one thread; long ones give way when the kernel may wait. */
static void run_in_order(Worker *k) {
  const Launch *n = k->launch;
  Cta *resident[RESIDENT] = {NULL};
  bool busy[RESIDENT] = {false};
  u64 next = 0, done = 0;
  u32 at = 0, room = n->may_wait ? RESIDENT : 1;
  while (done < n->block_count && !k->stop) {
    if (!busy[at] && next < n->block_count) {
      if (!resident[at]) resident[at] = new_cta(k);
      if (!resident[at]) break;
      start_cta(resident[at], block_in_turn(n, next++));
      busy[at] = true;
    }
    if (busy[at]) {
      enum Outcome o = run_cta(k, resident[at], n->may_wait ? SHORT_SLICE : UINT64_MAX / 2);
      if (o == ROTATE && now() > k->team->deadline) {
        say_timeout(resident[at], LIMIT);
        k->team->late = true;
        o = STOPPED;
      }
      if (o == DONE) { busy[at] = false; done++; k->steps += resident[at]->steps; }
      if (o == STOPPED) k->steps += resident[at]->steps;
      if (o == DONE) continue;
    }
    at = (at + 1) % room;
  }
  for (u32 r = 0; r < RESIDENT; r++) free_cta(resident[r]);
}

static void *run_shared_out(void *arg) {
  Worker *k = arg;
  Cta *c = new_cta(k);
  while (c && !k->stop && !__atomic_load_n(&k->team->stop, __ATOMIC_RELAXED)) {
    u64 number = __atomic_fetch_add(&k->team->next, 1, __ATOMIC_RELAXED);
    if (number >= k->launch->block_count) break;
    start_cta(c, k->launch->chosen ? k->launch->chosen[number] : number);
    run_cta(k, c, UINT64_MAX / 2);
    k->steps += c->steps;
  }
  if (k->stop) {
    __atomic_store_n(&k->team->again, true, __ATOMIC_RELAXED);
    __atomic_store_n(&k->team->stop, true, __ATOMIC_RELAXED);
  }
  free_cta(c);
  return NULL;
}

static bool make_worker(Worker *k, Team *team, const Launch *n) {
  memset(k, 0, sizeof *k);
  k->launch = n;
  k->team = team;
  k->counter = calloc(n->insns + 1, sizeof(Counter));
  k->guarded = calloc(n->insns + 1, sizeof(u64));
  k->visits = calloc(n->blocks + 1, sizeof(u64));
  k->visit_lanes = calloc(n->blocks + 1, sizeof(u64));
  return k->counter && k->guarded && k->visits && k->visit_lanes;
}

static void add_up(Launch *n, Worker *k) {
  for (u32 j = 0; n->counter && j < n->insns; j++) {
    u64 *to = (u64 *)&n->counter[j], *from = (u64 *)&k->counter[j];
    for (u32 f = 0; f < sizeof(Counter) / sizeof(u64); f++) to[f] += from[f];
    n->counter[j].lanes += k->guarded[j];
  }
  for (u32 j = 0; j < n->blocks; j++) {
    n->visits[j] += k->visits[j];
    n->visit_lanes[j] += k->visit_lanes[j];
  }
  n->steps += k->steps;
}

static void free_worker(Worker *k) {
  free_ledger(k);
  free(k->counter); free(k->guarded); free(k->visits); free(k->visit_lanes);
}

static void hand_over(Launch *n, Worker *all, u32 workers) {
  for (u32 x = 1; x < workers; x++) {
    for (u32 j = 0; j < all[x].reports.n; j++)
      if (all[x].reports.r[j].count) report(&all[0], all[x].reports.r[j]);
    all[0].reports.lost += all[x].reports.lost;
  }
  n->nreports = 0;
  for (u32 j = 0; j < all[0].reports.n; j++)
    if (all[0].reports.r[j].count) n->reports[n->nreports++] = all[0].reports.r[j];
  n->lost = all[0].reports.lost;
  for (u32 x = 0; x < workers; x++) add_up(n, &all[x]);
}

static bool share_out(Launch *n, Team *team, Worker *all, u32 workers) {
  pthread_t thread[MAX_THREADS];
  u32 started = 1;
  while (started < workers && !pthread_create(&thread[started], NULL, run_shared_out, &all[started]))
    started++;
  run_shared_out(&all[0]);
  for (u32 x = 1; x < started; x++) pthread_join(thread[x], NULL);
  (void)n;
  return !team->again;
}

int core_run(Launch *n) {
  u32 workers = n->ordered || n->block_count < 2 ? 1 : n->threads;
  if (workers > MAX_THREADS) workers = MAX_THREADS;
  if (workers == 1) n->ordered = 1;
  Team team = {.launch = n, .deadline = now() + n->wall_limit};
  Worker *all = calloc(workers, sizeof *all);
  Buffer *given = n->buffer;
  bool made = all != NULL && open_heap(n);
  for (u32 x = 0; made && x < workers; x++) made = make_worker(&all[x], &team, n);
  n->status = NO_MEMORY;
  if (made) {
    bool good = true;
    if (workers == 1) run_in_order(&all[0]);
    else good = share_out(n, &team, all, workers);
    bool memory = false;
    for (u32 x = 0; x < workers; x++) memory |= all[x].no_memory;
    n->status = memory ? NO_MEMORY : !good ? AGAIN : all[0].stop ? ABORTED : ENDED;
    /* A wall-clock limit is the same verdict however often it is tried. */
    if (team.late && !memory) n->status = ABORTED;
    hand_over(n, all, workers);
    if (n->lost && workers > 1 && n->status == ENDED) n->status = AGAIN;
  }
  for (u32 x = 0; all && x < workers; x++) free_worker(&all[x]);
  free(all);
  close_heap(n, given);
  return (int)n->status;
}

u32 core_sizes(u32 what) {
  const u32 sizes[] = {sizeof(Insn), sizeof(BasicBlock), sizeof(Function), sizeof(CallSite),
                       sizeof(Copy), sizeof(Buffer), sizeof(Cell), sizeof(Report), sizeof(Counter),
                       sizeof(Launch), REPORTS};
  return what < sizeof sizes / sizeof *sizes ? sizes[what] : 0;
}

/* The digest of the sources that this was built from; empty where the build told none. */
#ifndef CORE_SOURCES
#define CORE_SOURCES ""
#endif
const char *core_sources(void) { return CORE_SOURCES; }

/* Whether the build for AVX2, FMA, BMI and F16C runs on this processor. */
int core_has_avx2(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
  return 0;
#endif
}
