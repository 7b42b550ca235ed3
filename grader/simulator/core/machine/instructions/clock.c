/* PTX ISA, "Special Registers": %clock, %clock64, %globaltimer; "Miscellaneous Instructions": nanosleep.
 *
 * Time is simulated, so that a run repeats. A warp instruction takes so many cycles; the warps of a block run at
 * the same time, so a round of their turns takes as long as its longest turn, and every block starts at 0.
 * No read in a block gives less than an earlier one. The global timer is the block's time; where blocks
 * may wait for each other, none reads less than another read before.
 *
 * A warp that reads a clock or sleeps ends its turn soon: a loop with a timeout then waits for other warps
 * about as long as on a GPU. Timeouts can be far beyond the step limit, so after READS reads, or QUIET_READS while
 * nothing changed that others may notice, time passes faster and faster for that warp. Where nothing but clocks changes
 * any more, time is stopped, and leaps: see endless.c.
 *
 * In the orders whose waits give up, and while another warp pauses, a warp keeps its turn, and the more time has passed
 * so, the faster it passes: for 0.3 milliseconds, or in some orders for 0.7 seconds, as a multiprocessor that is late may
 * leave others waiting. */
#include "machine/control.h"
#include "machine/instructions/operation.h"

enum { CLOCK_TURN = 64, READS = 1 << 15, QUIET_READS = 1 << 10, FASTEST = 40 };
enum { NANOSECONDS = 5, IN_CYCLES = 8 }; /* 1.6 GHz */
#define SHORT_WAIT (1ull << 19) /* cycles that pass while a warp keeps its turn */
#define LONG_WAIT (1ull << 30)
enum { HURRY = 4, HURRIED_TURN = 4096 }; /* each look at a clock adds a part of the time that has passed so */
enum Register { LOW, HIGH, WHOLE, TIMER = 4 };

/* The block's time at this warp. */
static u64 own_time(const Warp *w) { return w->cta->time + turn_cycles(w) + w->worker->still.leapt; }

u64 turn_cycles(const Warp *w) { return (w->steps - w->turn_began) * w->launch->cycles + w->slept; }

static void end_turn_after(Warp *w, u64 steps) {
  if (w->turn_ends > w->turn_began + steps) w->turn_ends = w->turn_began + steps;
  w->cta->timed = true;
}

/* Lets time pass for a warp that waits alone; false where it has waited for long enough. */
static bool hurry(Warp *w, u64 cycles) {
  const Launch *n = w->launch;
  u64 most = is_of_kind(n, PATIENT) ? n->schedule < LONG_WAITS ? SHORT_WAIT : LONG_WAIT : w->worker->paused && n->hurries ? SHORT_WAIT : 0;
  if (w->hurried >= most) return false;
  w->hurried += cycles;
  w->slept += cycles;
  if (w->turn_ends < w->steps + HURRIED_TURN) w->turn_ends = w->steps + HURRIED_TURN;
  return true;
}

/* While time is stopped, every read in a block gives the same. */
static u64 stopped_clock(Warp *w) {
  Cta *c = w->cta;
  u64 now = own_time(w);
  if (c->stop != w->worker->still.stops) c->clock = now > c->clock ? now : c->clock + 1;
  c->stop = w->worker->still.stops;
  end_turn_after(w, CLOCK_TURN);
  return w->clock = c->clock;
}

/* Steps are counted by basic block: within one, the distance from the block's last read counts. */
static u64 clock_now(Warp *w, const Insn *i) {
  Cta *c = w->cta;
  Worker *k = w->worker;
  if (k->still.stopped) return stopped_clock(w);
  k->still.reads++;
  if (w->clock_change != changes_for(w)) w->quiet_reads = 0;
  w->clock_change = changes_for(w);
  u32 faster = ++w->clock_reads / READS, quiet = ++w->quiet_reads / QUIET_READS;
  if (quiet > faster) faster = quiet;
  if (faster) {
    w->slept += (u64)w->launch->cycles << (faster < FASTEST ? faster : FASTEST);
  }
  bool hurried = hurry(w, w->launch->cycles + w->hurried / HURRY);
  u64 now = own_time(w);
  u64 since = i->pc > w->clock_pc ? (u64)(i->pc - w->clock_pc) * w->launch->cycles : 0;
  if (w->clock_steps == w->steps && now < w->clock + since) now = w->clock + since;
  if (now <= c->clock) now = c->clock + 1;
  if (!hurried) end_turn_after(w, CLOCK_TURN);
  w->clock_steps = w->steps;
  w->clock_pc = i->pc;
  return c->clock = w->clock = now;
}

static u64 timer_now(Warp *w, const Insn *i) {
  Worker *k = w->worker;
  u64 now = clock_now(w, i) * NANOSECONDS / IN_CYCLES;
  if (!w->launch->may_wait) return now;
  return k->timer = now > k->timer ? now : k->timer;
}

/* mode: enum Register. All active lanes read the same time. */
static u64 time_read(Warp *w, const Insn *i) {
  u64 now = i->mode & TIMER ? timer_now(w, i) : clock_now(w, i);
  return (i->mode & ~TIMER) == HIGH ? now >> 32 : now;
}
void ptx_mov_clock32(Warp *w, const Insn *i) {
  u32 *d = DST(u32, i->d), now = (u32)time_read(w, i);
  EACH_LANE { d[l] = w->lane[l] ? now : d[l]; }
}
void ptx_mov_clock64(Warp *w, const Insn *i) {
  u64 *d = DST(u64, i->d), now = time_read(w, i);
  EACH_LANE { d[l] = w->lane[l] ? now : d[l]; }
}

/* The warp sleeps as long as its longest lane, and other warps run. */
void ptx_nanosleep(Warp *w, const Insn *i) {
  const u32 *a = SRC(u32, i->a);
  u32 longest = 0;
  for (u32 l = 0; l < LANES; l++)
    if (w->lane[l] && a[l] > longest) longest = a[l];
  u64 cycles = (u64)longest * IN_CYCLES / NANOSECONDS;
  if (w->looks_on || hurry(w, cycles)) return;
  w->slept += cycles;
  end_turn_after(w, 0);
}
