/* The life of mbarrier objects in shared memory, which cuda::barrier is: initialized with a count, used, and
 * invalidated before its memory is anything else. What the PTX manual leaves undefined is reported, not what
 * another watcher finds: reads of what was never written, and races between threads of one phase. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "machine/rows.h"
#include "watch/findings.h"
#include "watch/order.h"
#include "watch/shadow.h"

enum { OBJECT = 8 }; /* its bytes, and its alignment */
enum State { NOTHING, VALID, INVALIDATED, UNWRITTEN };
/* Report.extra: enum Misuse of diagnose/mbarriers.py. */
enum Misuse { BAD_COUNT = 1, SET_AGAIN, AFTER_INVALIDATION, NEVER_SET, PLAIN_ACCESS, MORE_ARRIVE, ARRIVE_TWICE };
enum { MEMBERS_SHIFT = 8, MOST_MEMBERS = 32 }; /* of `extra`: the arrivals; mbarriers whose arrivals are known */

/* By 8 bytes: what they are, who initialized or invalidated them last, and in which phase; the warps that have arrived
 * in the mbarrier's present phase; the number of its Arrivals, from 1. */
typedef struct { u32 state, pc, thread, phase, arrived, members; } Barrier;
/* An arrival, in the clocks of order.h. */
typedef struct { u32 phase, thread, epoch; bool known; } Moment;
/* By warp the threads that have arrived since an mbarrier was initialized, in its present phase, and twice in a phase,
 * and the arrivals that each made at once. The latest arrival, and the one that ended the phase before; whether a thread
 * arrived that had not learned of it: its arrival may be one of either phase. Where a thread arrived twice first. */
typedef struct {
  u32 lanes[MAX_WARPS], present[MAX_WARPS], twice[MAX_WARPS], arrivals, offset, pc, thread;
  Moment latest, end;
  bool behind;
} Arrivals;
typedef struct { Barrier *place; u32 valid, used; Arrivals members[MOST_MEMBERS]; } Objects;

static Objects *objects_of(const Cta *c) { return c->state[mbarriers_slot]; }
static u32 places_in(const Cta *c) { return c->worker->launch->shared_bytes / OBJECT + 1; }

static bool listens(const Launch *n) {
  for (u32 b = 0; b < n->blocks; b++)
    for (u32 k = n->block[b].first; k < n->block[b].end; k++)
      if (n->insn[k].exec == ptx_mbarrier) return true;
  return false;
}

static void make(Cta *c) {
  Objects *all = c->state[mbarriers_slot] = calloc(1, sizeof *all);
  if (all) all->place = calloc(places_in(c), sizeof(Barrier));
  if (!all || !all->place) out_of_memory(c->worker);
}
static void discard(Cta *c) {
  if (objects_of(c)) free(objects_of(c)->place);
  free(objects_of(c));
}
static void reset(Cta *c) {
  memset(objects_of(c)->place, 0, places_in(c) * sizeof(Barrier));
  objects_of(c)->valid = objects_of(c)->used = 0;
}

static void report_misuse(Warp *w, const Insn *i, u32 l, u32 offset, enum Misuse why, u32 count, const Barrier *p) {
  report(w->worker, (Report){.kind = MBARRIER, .flags = why == PLAIN_ACCESS && i->e ? STORE : 0, .pc = i->pc,
                             .pc2 = p->state == NOTHING ? i->pc : p->pc, .space = SHARED, .address = offset,
                             .size = count, .block = w->cta->number, .block2 = w->cta->number,
                             .thread = thread_of(w, l), .thread2 = p->thread, .count = 1, .extra = why});
}

/* Whether bytes that were never an mbarrier hold data. */
static bool is_written(const Warp *w, u32 offset) {
  return shadow_of(w->cta)->wrote[offset >> w->launch->shared_shift] >= FIRST_PHASE << THREAD_BITS;
}

static void check_use(Warp *w, const Insn *i, u32 l, u32 offset, Barrier *p) {
  if (p->state == INVALIDATED) report_misuse(w, i, l, offset, AFTER_INVALIDATION, OBJECT, p);
  if (p->state != NOTHING) return;
  if (is_written(w, offset)) report_misuse(w, i, l, offset, NEVER_SET, OBJECT, p);
  else p->state = UNWRITTEN;
}

/* As many threads as a phase counts arrive, and some of them twice in a phase. */
static void check_twice(Cta *c, const Barrier *p, const Arrivals *m) {
  u32 twice = 0;
  for (u32 x = 0; x < c->warps; x++) twice += (u32)__builtin_popcount(m->twice[x]);
  if (!twice) return;
  report(c->worker, (Report){.kind = MBARRIER, .pc = m->pc, .pc2 = p->pc, .space = SHARED, .address = m->offset,
                             .size = m->arrivals, .block = c->number, .block2 = c->number, .thread = m->thread,
                             .thread2 = p->thread, .count = 1, .extra = ARRIVE_TWICE | twice << MEMBERS_SHIFT});
}

/* More threads than a phase counts have arrived, and not in whole phases, or without knowing of the phase before: some
 * are a phase behind. It is an error where another one follows from it. */
static void check_members(Cta *c, const Barrier *p) {
  const Arrivals *m = p->members && p->state == VALID ? &objects_of(c)->members[p->members - 1] : NULL;
  u32 expected = 0, missing = 0;
  if (m) counts_of(c, m->offset, &expected, &missing);
  if (m && m->arrivals == expected) check_twice(c, p, m);
  if (!m || m->arrivals <= expected || (missing == expected && !m->behind)) return;
  report(c->worker, (Report){.kind = MBARRIER, .pc = p->pc, .pc2 = p->pc, .space = SHARED, .address = m->offset,
                             .size = expected, .block = c->number, .block2 = c->number, .thread = p->thread,
                             .thread2 = p->thread, .count = 1, .extra = MORE_ARRIVE | m->arrivals << MEMBERS_SHIFT});
}

static void note_moment(Warp *w, const Insn *i, u32 l, Arrivals *m) {
  u32 x = (u32)(w - w->cta->warp), thread = thread_of(w, l);
  const Moment *end = &m->end;
  if (m->present[x] >> l & 1 && !m->pc) m->pc = i->pc, m->thread = thread;
  m->twice[x] |= m->present[x] & 1u << l;
  m->present[x] |= 1u << l;
  if (!w->launch->exact) return;
  m->behind |= end->known && !ordered_before(w, thread, w->cta->number, end->phase, end->thread, end->epoch);
  m->latest = (Moment){phase_of(w->cta), thread, order_of(w->cta)->epoch[thread], true};
}

static void add_member(Warp *w, const Insn *i, u32 l, u32 offset, Barrier *p) {
  Objects *all = objects_of(w->cta);
  if (i->e > MBARRIER_ARRIVE_EXPECT || i->e == MBARRIER_EXPECT || p->state != VALID) return;
  bool counted = i->e == MBARRIER_ARRIVE && i->flag & MBARRIER_COUNTED;
  u32 count = counted ? SRC(u32, i->c)[l] & MBARRIER_MOST : 1;
  if (!count) return; /* cp.async.mbarrier.arrive leaves the number of arrivals as it is, without .noinc */
  if (!p->members && all->used < MOST_MEMBERS) {
    all->members[all->used] = (Arrivals){.offset = offset};
    p->members = ++all->used;
  }
  if (!p->members) return;
  Arrivals *m = &all->members[p->members - 1];
  u32 *lanes = &m->lanes[w - w->cta->warp];
  if (i->e == MBARRIER_DROP) { /* later phases count less: nothing is said of this one */
    memset(m->lanes, 0xFF, sizeof m->lanes);
    m->arrivals = 0;
  }
  if (i->e != MBARRIER_DROP) note_moment(w, i, l, m);
  if (!(*lanes >> l & 1)) m->arrivals += count;
  *lanes |= 1u << l;
}

static void check_all(Cta *c) {
  const Objects *all = objects_of(c);
  for (u32 k = 0; k < all->used; k++) check_members(c, &all->place[all->members[k].offset / OBJECT]);
}

static void end_waiting(Warp *w, u32 kind, u32 pc, u32 extra) {
  (void)pc, (void)extra;
  if (kind == STANDSTILL || kind == TIMEOUT || kind == LIMIT) check_all(w->cta);
}

u32 initialized_at(const Cta *c, u32 offset) { return objects_of(c)->place[offset / OBJECT].pc; }

static void set(Warp *w, const Insn *i, const u32 *offset) {
  Objects *all = objects_of(w->cta);
  u32 phase = phase_of(w->cta);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m), count = SRC(u32, i->c)[l];
    Barrier *p = &all->place[offset[l] / OBJECT];
    bool init = i->e == MBARRIER_INIT;
    if (init && (!count || count > MBARRIER_MOST)) report_misuse(w, i, l, offset[l], BAD_COUNT, count, p);
    if (init && p->state == VALID && (p->thread == thread_of(w, l) || p->phase != phase))
      report_misuse(w, i, l, offset[l], SET_AGAIN, OBJECT, p);
    if (!init) check_use(w, i, l, offset[l], p);
    check_members(w->cta, p);
    all->valid += (u32)init - (p->state == VALID);
    u32 members = p->members;
    if (members) all->members[members - 1] = (Arrivals){.offset = offset[l]};
    *p = (Barrier){init ? VALID : INVALIDATED, i->pc, thread_of(w, l), phase, 0, members};
  }
}

static void use(Warp *w, const Insn *i, const u32 *offset) {
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    check_use(w, i, l, offset[l], &objects_of(w->cta)->place[offset[l] / OBJECT]);
  }
}

static void note_arrival(Warp *w, const Insn *i, const u32 *offset) {
  use(w, i, offset);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    Barrier *p = &objects_of(w->cta)->place[offset[l] / OBJECT];
    p->arrived |= 1u << (w - w->cta->warp);
    add_member(w, i, l, offset[l], p);
  }
}

static void note_end(Warp *w, u32 offset) {
  Objects *all = objects_of(w->cta);
  Barrier *p = &all->place[offset / OBJECT];
  p->arrived = 0;
  if (!p->members) return;
  Arrivals *m = &all->members[p->members - 1];
  m->end = m->latest;
  memset(m->present, 0, sizeof m->present);
}

bool all_have_arrived(const Cta *c, u32 offset) {
  for (u32 x = 0; x < c->warps; x++) {
    const Warp *w = &c->warp[x];
    bool arrived = objects_of(c)->place[offset / OBJECT].arrived >> x & 1;
    for (u32 left = arrived ? 0 : live_lanes(w); left; left &= left - 1)
      if (w->awaits[first_lane(left)] != offset + 1) return false;
  }
  return true;
}

static void check_plain(Warp *w, const Insn *i, const u32 *offset, u32 bytes, bool stores) {
  const Objects *all = objects_of(w->cta);
  Insn access = {.pc = i->pc, .e = stores};
  for (u32 m = all->valid ? w->mask : 0; m; m &= m - 1) {
    u32 l = first_lane(m), at = offset[l] / OBJECT, last = (offset[l] + bytes - 1) / OBJECT;
    while (at < last && all->place[at].state != VALID) at++;
    if (all->place[at].state == VALID) report_misuse(w, &access, l, at * OBJECT, PLAIN_ACCESS, bytes, &all->place[at]);
  }
}
static void check_read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check_plain(w, i, offset, bytes, false);
}
static void check_write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check_plain(w, i, offset, bytes, true);
}
static void check_rows(Warp *w, const Insn *i, const Region *g, const Rows *r, bool stores) {
  u32 offset[LANES] __attribute__((aligned(32)));
  if (g->space != SHARED || !objects_of(w->cta)->valid) return;
  spread(r, offset);
  check_plain(w, i, offset, 4, stores);
}
static void check_read_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) { check_rows(w, i, g, r, false); }
static void check_write_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) { check_rows(w, i, g, r, true); }

const Watcher mbarriers_watcher = {
    .listens = listens, .block_created = make, .block_started = reset, .block_ended = check_all,
    .block_destroyed = discard, .fault = end_waiting,
    .mbarrier_set = set, .mbarrier_arrived = note_arrival, .mbarrier_completed = note_end, .mbarrier_tested = use,
    .read = check_read, .read_part = check_read, .write = check_write, .atomic = check_write, .atomic_part = check_write,
    .read_rows = check_read_rows, .write_rows = check_write_rows};
