/* A launch: blocks run on several threads, or on one in the fixed order; then the results are merged.
 *
 * Blocks of a kernel without atomics are independent, so they may run on any thread: their
 * findings, outputs and counters are the same for any number of threads. When two blocks turn out to
 * access the same memory, or one fails, the run is void (AGAIN): the caller restores the memory and
 * repeats it in the fixed order. Kernels that may wait for another block run in that order from
 * the start, and a block that takes long yields to the next. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "machine/control.h"
#include "machine/events.h"
#include "machine/proof.h"

/* An H100: one block of each multiprocessor is always resident; how many are at most, their warps, shared memory with what the
 * system reserves of it, and the unit of this say. Source: CUDA C++ Programming Guide, technical specifications. */
enum { RESIDENT = 132, MOST_BLOCKS = 32, MOST_WARPS = 64, MOST_SHARED = 233472, RESERVED = 1024, UNIT = 128 };
enum { MAX_THREADS = 64, BLOCKS_A_LOOK = 16 };
#define SHORT_SLICE (1u << 14) /* of blocks that may wait for each other */
enum { LONG_TURN = 512, PATIENCE = 256, QUIET_ROUNDS = 32 };

/* The listeners to a launch, by event; of a launch by proof, those to its reduced blocks or to the others. */
static Listeners listeners_to(const Launch *n, bool reduced) {
  Listeners on = {.reads_by_rows = true, .writes_by_rows = true};
  for (const Watcher *const *each = watchers; *each; each++) {
    const Watcher *x = *each;
    if (x->listens && !x->listens(n)) continue;
    if (x->blocks == (reduced ? FULL_BLOCKS : REDUCED_BLOCKS)) continue;
    on.reads_by_rows &= x->read_rows || !x->read;
    on.writes_by_rows &= x->write_rows || !x->write;
#define EVENT(NAME, WORKER, PARAMETERS, ARGUMENTS)               \
    if (x->NAME) {                                               \
      u32 at = 0;                                                \
      while (on.NAME[at]) at++;                                  \
      on.NAME[at] = x->NAME;                                     \
    }
    EVENTS(EVENT)
#undef EVENT
  }
  return on;
}

static u64 block_in_turn(const Launch *n, u64 x) {
  u64 r = mixed(n->schedule, 0, 0);
  if (n->chosen) return n->chosen[x];
  if (!n->schedule) return x;
  if (is_of_kind(n, PATIENT)) return is_backward(n) ? n->block_count - 1 - x : x;
  return (r & 1 ? n->block_count - 1 - x + r / 2 % n->block_count : x + r / 2) % n->block_count;
}

/* The steps that a block runs before the next block does. In other orders turns are short, so that a block
 * stops at any place; in half of the orders some are long, so that the rest overtake it there. In one of eight
 * they are so long that a block which waits for another a limited time gives up; in another one all blocks run
 * abreast, so that each takes its first lock before one takes its second. */
static u64 slice_of(const Launch *n, u64 turn) {
  if (!n->may_wait) return UINT64_MAX / 2;
  if (n->whole_turns) return SHORT_SLICE;
  if (is_of_kind(n, PATIENT)) return LONG_TURN * PATIENCE;
  if (is_of_kind(n, ABREAST)) return 1;
  if (!n->schedule) return SHORT_SLICE;
  u32 r = mixed(n->schedule, 1, (u32)turn);
  return r & n->schedule & 1 ? LONG_TURN : 1u << r / 2 % 7;
}

/* Whether a block has no turn, because all its lanes that can run sleep. Where this is so of all blocks, each has one. */
static bool skips_turn(Cta *c, u64 blocks, u64 *skipped) {
  if (!block_dozes(c)) {
    *skipped = 0;
    return false;
  }
  if (++*skipped <= blocks) return true;
  if (*skipped >= 2 * blocks) *skipped = 0;
  wake_block(c);
  return false;
}

/* Blocks in turn on one thread: those that run, which block is next, and how many steps all took. */
typedef struct Residents {
  Cta *block[RESIDENT * MOST_BLOCKS];
  bool busy[RESIDENT * MOST_BLOCKS];
  u64 next, done, turn, spent, skipped;
  u32 room;
} Residents;

static u32 most_resident(const Launch *n) {
  u32 warps = (n->dim[0] * n->dim[1] * n->dim[2] + LANES - 1) / LANES;
  u32 shared = (n->shared_bytes + RESERVED + UNIT - 1) / UNIT * UNIT, most = MOST_BLOCKS;
  if (most > MOST_WARPS / warps) most = MOST_WARPS / warps;
  if (most > MOST_SHARED / shared) most = MOST_SHARED / shared;
  return RESIDENT * (most ? most : 1);
}

u32 places(const Worker *k) {
  const Residents *s = k->residents;
  return s->room < k->launch->block_count ? s->room : (u32)k->launch->block_count;
}

bool has_unstarted(const Worker *k) { return k->launch->may_wait && k->residents->next < k->launch->block_count; }

static bool are_full(const Residents *s) { return s->next - s->done == s->room; }

/* Where all blocks wait: more of those that have not started are resident, if a multiprocessor has room for them. */
static bool add_residents(Worker *k, Residents *s) {
  u32 most = most_resident(k->launch);
  if (s->next == k->launch->block_count || !are_full(s) || s->room >= most) return false;
  s->room = 2 * s->room < most ? 2 * s->room : most;
  return true;
}

static bool all_repeat(const Residents *s) {
  bool all = true;
  for (u32 r = 0; r < s->room && all; r++) all = !s->busy[r] || repeats_itself(s->block[r]);
  return all;
}

/* Looks whether a block that ends its turn, and all others, wait for what none of them does. */
static void look_for_standstill(Worker *k, Residents *s, Cta *c) {
  bool last = s->next == k->launch->block_count, more = !last && !are_full(s);
  watch_repetition(c, !more);
  if (more || !repeats_itself(c) || !all_repeat(s) || leap(k) || add_residents(k, s)) return;
  abort_cta(c, STANDSTILL);
}

/* One turn of the block in a place, or of the next one; whether it is done. In another order than the usual one the
 * limit of steps is that of all blocks together: it runs beside the usual one. */
static bool run_turn(Worker *k, Residents *s, u32 at) {
  const Launch *n = k->launch;
  if (!s->busy[at]) {
    if (s->next >= n->block_count) return false;
    if (!s->block[at]) s->block[at] = new_cta(k);
    if (!s->block[at]) return false;
    start_cta(s->block[at], block_in_turn(n, s->next++));
    s->busy[at] = true;
    k->changes++;
  }
  Cta *c = s->block[at];
  bool skips = skips_turn(c, s->next - s->done, &s->skipped);
  if (s->skipped > s->next - s->done) add_residents(k, s);
  if (skips) return false;
  u64 before = c->steps;
  u64 slice = takes_steps(k) ? 1 : slice_of(n, s->turn++);
  enum Outcome o = is_late(k, BLOCKS_A_LOOK) ? STOPPED : run_cta(k, c, slice);
  if (k->late && !k->stop && o != DONE) {
    abort_cta(c, LIMIT);
    k->team->late = true;
    o = STOPPED;
  }
  s->spent += c->steps - before;
  if (o == ROTATE && n->schedule && s->spent > n->step_limit) {
    abort_cta(c, TIMEOUT);
    o = STOPPED;
  }
  if (o == ROTATE && !k->paused) look_for_standstill(k, s, c);
  if (o == DONE) { s->busy[at] = false; s->done++; k->changes++; k->steps += c->steps; }
  return o == DONE;
}

/* Every block in turn on one thread, in time slices when blocks may wait for each other. */
static void run_in_order(Worker *k) {
  const Launch *n = k->launch;
  k->deadline = now() + n->time_limit;
  Residents s = {.room = n->may_wait ? RESIDENT : 1};
  k->residents = &s;
  for (u32 at = 0; s.done < n->block_count && !k->stop;)
    if (!run_turn(k, &s, at)) at = (at + 1) % s.room;
  k->residents = NULL;
  k->team->again |= k->still.leaps > 0; /* the end is their effect */
  for (u32 r = 0; r < s.room; r++) {
    if (s.busy[r]) k->steps += s.block[r]->steps;
    free_cta(s.block[r]);
  }
}

static u64 all_changes(const Worker *k, const Residents *s) {
  u64 all = k->changes;
  for (u32 r = 0; r < s->room; r++) all += s->busy[r] ? s->block[r]->changes : 0;
  return all;
}

/* At the end of another warp's turn, during a pause that ends when others have changed memory so often, or restored it. */
void count_pause_changes(Worker *k) {
  u32 most = k->launch->pause_changes;
  if (k->launch->restored ? is_restored(k) : most && all_changes(k, k->residents) - k->paused_at >= most) k->pause_ends = true;
}

/* At the end of another warp, during a short pause. */
void look_for_pause_end(Worker *k, const Warp *w) {
  if (k->launch->short_pause && w->steps != w->turn_began && all_changes(k, k->residents) != k->paused_at) k->pause_ends = true;
}

/* A warp pauses at an instruction, or NULL: all other warps run until they are done, wait or change no memory any more. So another
 * thread's write comes between two accesses of one thread, wherever they are. */
void run_others(Warp *w, const Insn *i) {
  Worker *k = w->worker;
  Residents *s = k->residents;
  k->has_paused = true;
  k->pause_ends &= !k->has_paused_again;
  if (!s) return;
  k->paused = w;
  k->paused_at = all_changes(k, s);
  if (i && k->launch->restored) expect(k, w, i);
  u32 mask = w->mask;
  u64 until = s->spent + k->launch->step_limit / 2;
  for (u32 quiet = 0; quiet < QUIET_ROUNDS && s->spent < until && !k->stop && !k->pause_ends;) {
    u64 changes = all_changes(k, s), spent = s->spent;
    for (u32 at = 0; at < s->room && !k->stop && !k->pause_ends; at++)
      while (run_turn(k, s, at) && !k->pause_ends) {}
    if (s->spent == spent) break;
    quiet = all_changes(k, s) == changes ? quiet + 1 : 0;
  }
  k->paused = NULL;
  if (w->mask != mask) set_mask(w, mask); /* a fault of the block has named other lanes; these are in mid-block */
}

/* The number of the next block for a worker; false: there is none. */
static bool take_next(Team *team, u64 *number) {
  const Launch *n = team->launch;
  if (team->proof) return take_in_proof(team, number);
  *number = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED);
  if (*number >= n->block_count) return false;
  if (n->chosen) *number = n->chosen[*number];
  return true;
}

static void *run_next_blocks(void *arg) {
  Worker *k = arg;
  k->deadline = now() + k->launch->time_limit;
  Cta *c = new_cta(k);
  while (c && !k->stop && !__atomic_load_n(&k->team->stop, __ATOMIC_RELAXED)) {
    u64 number;
    if (!take_next(k->team, &number)) break;
    start_cta(c, number);
    if (is_late(k, BLOCKS_A_LOOK)) { abort_cta(c, LIMIT); k->team->late = true; }
    else if (run_cta(k, c, UINT64_MAX / 2) == DONE && k->team->proof) end_in_proof(c);
    k->steps += c->steps;
  }
  if (k->team->proof) watch_fully(k);
  if (k->stop) {
    __atomic_store_n(&k->team->again, true, __ATOMIC_RELAXED);
    __atomic_store_n(&k->team->stop, true, __ATOMIC_RELAXED);
  }
  free_cta(c);
  return NULL;
}

static bool start_worker(Worker *k, Team *team, const Listeners *on) {
  const Launch *n = team->launch;
  k->launch = n;
  k->team = team;
  k->on = on;
  k->guarded = calloc(n->insns + 1, sizeof(u64));
  k->visits = calloc(n->blocks + 1, sizeof(u64));
  k->visit_lanes = calloc(n->blocks + 1, sizeof(u64));
  announce_worker_started(k);
  return k->guarded && k->visits && k->visit_lanes && !k->no_memory;
}

static void end_worker(Worker *k) {
  if (k->on) announce_worker_ended(k);
  free(k->guarded); free(k->visits); free(k->visit_lanes);
  free(k->pointers.pointer);
}

static void add_up(Launch *n, const Worker *k) {
  for (u32 j = 0; j < n->blocks; j++) {
    n->visits[j] += k->visits[j];
    n->visit_lanes[j] += k->visit_lanes[j];
  }
  n->steps += k->steps;
  n->observed |= k->observed;
}

static bool run_on_threads(Team *team, Worker *all, u32 workers) {
  pthread_t thread[MAX_THREADS];
  u32 started = 1;
  while (started < workers && !pthread_create(&thread[started], NULL, run_next_blocks, &all[started]))
    started++;
  run_next_blocks(&all[0]);
  for (u32 x = 1; x < started; x++) pthread_join(thread[x], NULL);
  return !team->again;
}

/* The representatives first, then the blocks that they stand for. */
static bool run_by_proof(Team *team, Worker *all, u32 workers) {
  if (!run_on_threads(team, all, workers)) return false;
  begin_reduced_blocks(team);
  if (!run_on_threads(team, all, workers)) return false;
  count_alike(team, all, workers);
  return true;
}

static void run_workers(Launch *n, Team *team, Worker *all, u32 workers) {
  bool good = true, memory = false;
  if (team->proof) good = run_by_proof(team, all, workers);
  else if (workers == 1) { run_in_order(&all[0]); good = !team->again; }
  else good = run_on_threads(team, all, workers);
  for (u32 x = 0; x < workers; x++) memory |= all[x].no_memory;
  n->status = memory ? NO_MEMORY : !good ? AGAIN : all[0].stop ? ABORTED : ENDED;
  /* A repetition would reach the time limit too. */
  if (team->late && !memory) n->status = ABORTED;
  if (team->proof && !good) n->status = NOT_PROVEN;
  announce_launch_ended(n, all, workers);
  for (u32 x = 0; x < workers; x++) add_up(n, &all[x]);
  if (n->lost && workers > 1 && n->status == ENDED) n->status = AGAIN;
}

int core_run(Launch *n) {
  u32 workers = n->ordered || n->block_count < 2 ? 1 : n->threads;
  if (workers > MAX_THREADS) workers = MAX_THREADS;
  if (workers == 1) n->ordered = 1;
  Team team = {.launch = n};
  Listeners on = listeners_to(n, false), reduced = listeners_to(n, true);
  Worker *all = calloc(workers, sizeof *all);
  Buffer *given = n->buffer;
  n->by_block = n->work || n->pause || n->old_pause;
  bool made = all != NULL && open_heap(n) && (!n->assumed || make_proof(&team, &on, &reduced));
  for (u32 x = 0; made && x < workers; x++) made = start_worker(&all[x], &team, &on);
  n->status = NO_MEMORY;
  if (made) run_workers(n, &team, all, workers);
  for (u32 x = 0; all && x < workers; x++) end_worker(&all[x]);
  free(all);
  free_proof(&team);
  close_heap(n, given);
  return (int)n->status;
}

u32 core_sizes(u32 what) {
  const u32 sizes[] = {sizeof(Insn), sizeof(BasicBlock), sizeof(Function), sizeof(CallSite),
                       sizeof(Copy), sizeof(Buffer), sizeof(Cell), sizeof(Report), sizeof(Counter),
                       sizeof(Work), sizeof(Loop), sizeof(State), sizeof(Image), sizeof(LocalVariable), sizeof(Launch),
                       REPORTS};
  return what < sizeof sizes / sizeof *sizes ? sizes[what] : 0;
}

/* The digest of the sources that this was built from; empty when the build did not define it. */
#ifndef CORE_SOURCES
#define CORE_SOURCES ""
#endif
const char *core_sources(void) { return CORE_SOURCES; }

/* Whether the build for AVX2, FMA, BMI, LZCNT and F16C runs on this processor and system. That build
   is asked, too: the answer itself must not use what the processor may lack. It comes from CPUID,
   because not every compiler's __builtin_cpu_supports knows the processor in a shared library. */
#if defined(__x86_64__)
#define HAS(VALUE, BITS) (((VALUE) & (BITS)) == (BITS))
__attribute__((target("no-avx2,no-avx,no-fma,no-bmi,no-bmi2,no-lzcnt,no-f16c")))
#endif
int core_has_avx2(void) {
#if defined(__x86_64__)
  u32 a, b, c, d, saved, upper;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  if (!HAS(c, bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C)) return 0;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
  if (!HAS(saved, 6)) return 0; /* the system saves the registers XMM and YMM of a thread */
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if (!HAS(b, bit_AVX2 | bit_BMI | bit_BMI2)) return 0;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && HAS(c, bit_LZCNT);
#else
  return 0;
#endif
}
