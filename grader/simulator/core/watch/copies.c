/* Asynchronous copies in flight: an access to the place that a copy will write, before the copy is
 * complete, is a race, the thread's own access included. So is a write to what a copy in flight reads.
 *
 * A copy that an mbarrier tracks is complete for a thread that has observed the end of the phase in which the
 * copy counts, or that follows another thread's observation in causality order (watch/order.h). A wait for
 * groups completes a thread's own copies by cp.async, those that an mbarrier tracks as well, but no bulk copy:
 * only its mbarrier tells of that, to the thread that started it as to any other. */
#include <stdlib.h>
#include <string.h>
#include "machine/control.h"
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "machine/rows.h"
#include "watch/findings.h"
#include "watch/order.h"

/* The copy that will write 4 bytes of shared memory: its pc + 1 and thread; the group of its thread that it is
 * in, and that thread's waits for groups before it; whether it is a bulk copy; the number of its Tracked + 1
 * when an mbarrier tracks it; at its first place, the number of its source + 1. */
typedef struct { u32 pc, thread, group, waits, tracked, source; bool bulk; } Mark;

/* What one lane's copy in flight reads of a buffer of global memory; buffer: NULL, it is complete. It has
 * a group, and a Tracked, as a Mark has. */
typedef struct { const Buffer *buffer; u32 from, to, thread, pc, group, tracked, next; bool bulk; } Source;

/* A thread that has observed the end of a phase, and when: what follows in causality order knows of it. */
typedef struct { u32 thread, phase, epoch; } Observer;

/* The copies that count in one phase of an mbarrier. `places`: marked ones; `known`: to all threads. */
typedef struct {
  u32 barrier, phase, places, next; /* `barrier`: its number */
  u32 thread[MAX_BLOCK_THREADS / LANES]; /* by mask: the threads that observed its end */
  Observer *observer; u32 observers, room;
  bool used, known, waited;     /* `waited`: for an earlier phase, after its first copy had started */
} Tracked;

/* An mbarrier that tracks copies: its offset, the phase that it is in, the Tracked + 1 of that phase; the bytes
 * that bulk copies brought, and the last of them; whether it is none any more, while copies count there. */
typedef struct { u32 offset, phase, now, pc, thread, brought; bool gone; } Barrier;

/* A thread's last wait for groups: how many it left, and how many groups the thread had begun; its waits. */
typedef struct { u32 left, groups, waits; } GroupWait;

/* An ordinary store to 4 bytes of shared memory: its pc + 1 and thread, the number of the event, and the barriers
 * before it. Bulk copies access them by the asynchronous proxy. */
typedef struct { u32 pc, thread, event, barriers; } Stored;

/* What a thread copies out of shared memory; its group among the thread's groups of such copies. */
typedef struct { u32 from, to, thread, pc, group; } Leaving;

typedef struct {
  Stored *stored;               /* NULL without bulk copies */
  Leaving *leaving; u32 leavings, leaving_room;
  u32 out_groups[MAX_BLOCK_THREADS];
  u32 events, fenced[MAX_WARPS], synced[MAX_WARPS]; /* the last fence.proxy.async, the last wait for others */
  u32 fenced_barriers;          /* the most barriers before such a fence of any thread */
  Source *source; u32 sources, source_room, in_flight, free_source;
  Mark *place;                 /* of each 4 bytes of shared memory; NULL before the first copy */
  u32 started[MAX_BLOCK_THREADS]; /* the source + 1 of the copy that each thread starts */
  GroupWait wait[MAX_BLOCK_THREADS];
  u32 marked;                   /* 4-byte places of copies in flight */
  Tracked *tracked; u32 tracks, track_room, free_track;
  Barrier *barrier; u32 barriers, barrier_room;
} Copies;

/* What is wrong, in the low bits of Report.extra; above them a number: see diagnose/copies.py. */
enum Missing { NO_WAIT, NOT_COMMITTED, GROUP_LEFT, PHASE_NOT_AWAITED, EARLIER_PHASE, OTHERS_WAITED, READ_NOT_AWAITED, WHY = 3 };
enum { OTHER_BYTES = 2 }; /* in the flags of a BARRIER_COUNT report */

static Copies *copies_of(const Cta *c) { return c->state[copies_slot]; }
static u32 places_in(const Cta *c) { return c->worker->launch->shared_bytes / 4 + 1; }

static bool executes(const Launch *n, Exec *exec) {
  for (u32 b = 0; b < n->blocks; b++)
    for (u32 k = n->block[b].first; k < n->block[b].end; k++)
      if (n->insn[k].exec == exec) return true;
  return false;
}
static bool listens(const Launch *n) {
  return executes(n, ptx_cp_async) || executes(n, ptx_cp_async_bulk) || executes(n, ptx_cp_async_bulk_out);
}

static void make(Cta *c) {
  Copies *all = c->state[copies_slot] = calloc(1, sizeof *all);
  if (all) all->place = calloc(places_in(c), sizeof(Mark));
  const Launch *n = c->worker->launch;
  bool bulk = executes(n, ptx_cp_async_bulk) || executes(n, ptx_cp_async_bulk_out);
  if (all && bulk) all->stored = calloc(places_in(c), sizeof(Stored));
  if (!all || !all->place || (bulk && !all->stored)) out_of_memory(c->worker);
}

static void free_tracked(Copies *all) {
  for (u32 k = 0; k < all->tracks; k++) free(all->tracked[k].observer);
  all->tracks = all->free_track = 0;
}

static void discard(Cta *c) {
  Copies *all = copies_of(c);
  if (!all) return;
  free_tracked(all);
  free(all->tracked);
  free(all->barrier);
  free(all->place);
  free(all->stored);
  free(all->leaving);
  free(all->source);
  free(all);
}

static void reset(Cta *c) {
  Copies *all = copies_of(c);
  if (all->marked) memset(all->place, 0, places_in(c) * sizeof(Mark));
  if (all->stored) memset(all->stored, 0, places_in(c) * sizeof(Stored));
  memset(all->out_groups, 0, sizeof all->out_groups);
  memset(all->fenced, 0, sizeof all->fenced);
  memset(all->synced, 0, sizeof all->synced);
  all->leavings = all->events = all->fenced_barriers = 0;
  memset(all->started, 0, sizeof all->started);
  memset(all->wait, 0, sizeof all->wait);
  free_tracked(all);
  all->marked = all->sources = all->in_flight = all->free_source = all->barriers = 0;
}

static bool observed(const Tracked *t, u32 thread) { return t->thread[thread / LANES] >> thread % LANES & 1; }

/* Whether the end of a copy's phase precedes what a thread does now. */
static bool is_complete(const Warp *w, u32 thread, const Tracked *t) {
  if (t->known || observed(t, thread)) return true;
  for (u32 k = 0; k < t->observers; k++) {
    const Observer *o = &t->observer[k];
    if (order_of(w->cta) && ordered_before(w, thread, w->cta->number, o->phase, o->thread, o->epoch)) return true;
  }
  return false;
}

/* Why a copy is not complete where a thread accesses its place or its source. */
static u32 missing(const Cta *c, u32 tracked, const Mark *p) {
  const Copies *all = copies_of(c);
  if (tracked) {
    const Tracked *t = &all->tracked[tracked - 1];
    u32 why = t->observers ? OTHERS_WAITED : t->waited ? EARLIER_PHASE : PHASE_NOT_AWAITED;
    return all->barrier[t->barrier].offset << WHY | why;
  }
  const GroupWait *g = p ? &all->wait[p->thread] : NULL;
  if (!g) return NO_WAIT;
  if (g->waits == p->waits)
    return (u32)(p->group >= c->warp[p->thread / LANES].groups[p->thread % LANES]) << WHY | NO_WAIT;
  return p->group >= g->groups ? NOT_COMMITTED : (g->groups - p->group - 1) << WHY | GROUP_LEFT;
}

static void check(Warp *w, const Insn *i, const u32 *offset, u32 bytes, bool stores) {
  const Copies *all = copies_of(w->cta);
  const Mark *to = all->place;
  if (!all->marked) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m), at = offset[l] / 4, last = (offset[l] + bytes - 1) / 4, thread = thread_of(w, l);
    while (at <= last && (!to[at].pc ||
                          (to[at].tracked && is_complete(w, thread, &all->tracked[to[at].tracked - 1])))) at++;
    if (at > last) continue;
    report(w->worker, (Report){.kind = RACE, .flags = IN_FLIGHT | OTHER_STORE | (stores ? STORE : 0),
                               .pc = i->pc, .pc2 = to[at].pc - 1, .space = SHARED, .address = offset[l],
                               .block = w->cta->number, .block2 = w->cta->number, .size = bytes,
                               .thread = thread, .thread2 = to[at].thread, .count = 1,
                               .extra = missing(w->cta, to[at].tracked, &to[at])});
  }
}

static void check_sources(Warp *w, const Insn *i, const Buffer *b, const u32 *offset, u32 bytes) {
  const Copies *all = copies_of(w->cta);
  for (u32 k = 0; all->in_flight && k < all->sources; k++) {
    const Source *s = &all->source[k];
    for (u32 m = s->buffer == b ? w->mask : 0; m; m &= m - 1) {
      u32 l = first_lane(m);
      if (offset[l] >= s->to || offset[l] + bytes <= s->from) continue;
      report(w->worker, (Report){.kind = RACE, .flags = IN_FLIGHT | STORE, .pc = i->pc, .pc2 = s->pc,
                                 .space = GLOBAL, .buffer = (u32)(b - w->launch->buffer), .size = bytes,
                                 .address = offset[l], .block = w->cta->number, .block2 = w->cta->number,
                                 .thread = thread_of(w, l), .thread2 = s->thread, .count = 1,
                                 .extra = missing(w->cta, s->tracked, NULL)});
    }
  }
}

/* A new source, as its number + 1; 0 without memory. */
static u32 new_source(Worker *k, Copies *all) {
  u32 at = all->free_source;
  if (at) {
    all->free_source = all->source[at - 1].next;
    return at;
  }
  Source *more = grown(all->source, &all->source_room, all->sources + 1, sizeof *more);
  if (!more) { out_of_memory(k); return 0; }
  all->source = more;
  return ++all->sources;
}

/* Before the copy starts: it is not known yet where it writes. The rows of a bulk copy are one source. */
static void note_source(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  Copies *all = copies_of(w->cta);
  for (u32 m = r->space == GLOBAL ? w->mask : 0; m; m &= m - 1) {
    u32 l = first_lane(m), at = all->started[thread_of(w, l)];
    Source *s = at ? &all->source[at - 1] : NULL;
    if (s && s->pc == i->pc && s->buffer == r->buffer && s->to == offset[l]) {
      s->to += bytes;
      continue;
    }
    if (!(at = new_source(w->worker, all))) return;
    all->source[at - 1] = (Source){.buffer = r->buffer, .from = offset[l], .to = offset[l] + bytes,
                                   .thread = thread_of(w, l), .pc = i->pc, .group = w->groups[l],
                                   .bulk = i->exec == ptx_cp_async_bulk};
    all->started[thread_of(w, l)] = at;
    all->in_flight++;
  }
}

static void forget_source(Copies *all, u32 at) {
  if (!at || !all->source[at - 1].buffer) return;
  all->source[at - 1].buffer = NULL;
  all->source[at - 1].next = all->free_source;
  all->free_source = at;
  all->in_flight--;
}
/* A store to what a copy out of shared memory may still read. */
static void check_leaving(Warp *w, const Insn *i, u32 thread, u32 offset, u32 bytes) {
  const Copies *all = copies_of(w->cta);
  for (u32 k = 0; k < all->leavings; k++) {
    const Leaving *x = &all->leaving[k];
    if (offset >= x->to || offset + bytes <= x->from) continue;
    report(w->worker, (Report){.kind = RACE, .flags = IN_FLIGHT | STORE, .pc = i->pc, .pc2 = x->pc, .space = SHARED,
                               .address = offset, .block = w->cta->number, .block2 = w->cta->number, .size = bytes,
                               .thread = thread, .thread2 = x->thread, .count = 1, .extra = READ_NOT_AWAITED});
    return;
  }
}

static void note_stores(Warp *w, const Insn *i, const u32 *offset, u32 bytes) {
  Copies *all = copies_of(w->cta);
  if (!all->stored) return;
  all->events++;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m), thread = thread_of(w, l);
    check_leaving(w, i, thread, offset[l], bytes);
    for (u32 at = offset[l] / 4; at <= (offset[l] + bytes - 1) / 4; at++)
      all->stored[at] = (Stored){i->pc + 1, thread, all->events, (u32)w->cta->barriers};
  }
}

/* A fence.proxy.async is between a store and a copy where a thread of the store's warp executes it after the store,
 * the copying thread since it waited for others, or any thread after a later barrier. */
static bool is_fenced(const Warp *w, const Copies *all, const Stored *s) {
  u32 mine = all->fenced[w->index];
  return all->fenced[s->thread / LANES] > s->event || (mine > s->event && mine > all->synced[w->index]) ||
         all->fenced_barriers > s->barriers;
}

/* A bulk copy from or, with STORE in `flags`, to what ordinary stores wrote. What it writes is written by its proxy. */
static void check_proxy(Warp *w, const Insn *i, u32 thread, u32 from, u32 flags) {
  Copies *all = copies_of(w->cta);
  bool found = false;
  for (u32 k = from / 4; k < (from + i->size) / 4; k++) {
    Stored *s = &all->stored[k];
    bool fenced = !s->pc || is_fenced(w, all, s);
    if (!fenced && !found)
      report(w->worker, (Report){.kind = RACE, .flags = NO_PROXY_FENCE | OTHER_STORE | flags, .pc = i->pc,
                                 .pc2 = s->pc - 1, .space = SHARED, .address = 4 * k, .block = w->cta->number,
                                 .block2 = w->cta->number, .thread = thread, .thread2 = s->thread, .count = 1,
                                 .size = i->size});
    found |= !fenced;
    if (flags & STORE) s->pc = 0;
  }
}

static void copy_out(Warp *w, const Insn *i, const u32 *from, const Region *r, const u32 *offset) {
  Copies *all = copies_of(w->cta);
  u32 l = first_lane(w->mask), at = from[l], thread = thread_of(w, l);
  (void)r, (void)offset;
  check(w, i, from, i->size, false);
  check_proxy(w, i, thread, at, 0);
  Leaving *last = all->leavings ? &all->leaving[all->leavings - 1] : NULL;
  if (last && last->to == at && last->thread == thread && last->pc == i->pc && last->group == all->out_groups[thread]) {
    last->to += i->size;
    return;
  }
  Leaving *more = grown(all->leaving, &all->leaving_room, all->leavings + 1, sizeof *more);
  if (!more) { out_of_memory(w->worker); return; }
  all->leaving = more;
  more[all->leavings++] = (Leaving){at, at + i->size, thread, i->pc, all->out_groups[thread]};
}

/* A wait of the active lanes is for all their groups but the newest `left`. */
static void end_groups(Warp *w, bool commits, u32 left) {
  Copies *all = copies_of(w->cta);
  u32 kept = 0;
  for (u32 m = commits ? w->mask : 0; m; m &= m - 1) all->out_groups[thread_of(w, first_lane(m))]++;
  for (u32 k = 0; !commits && k < all->leavings; k++) {
    Leaving x = all->leaving[k];
    u32 lane = x.thread - w->base;
    bool over = lane < LANES && w->lane[lane] && (u64)x.group + left < all->out_groups[x.thread];
    if (!over) all->leaving[kept++] = x;
  }
  if (!commits) all->leavings = kept;
}

static void fence_proxy(Warp *w, u32 pc) {
  Copies *all = copies_of(w->cta);
  (void)pc;
  all->fenced[w->index] = ++all->events;
  if (w->cta->barriers > all->fenced_barriers) all->fenced_barriers = (u32)w->cta->barriers;
}
static void sync_warp(Warp *w, u32 mask) {
  (void)mask;
  copies_of(w->cta)->synced[w->index] = ++copies_of(w->cta)->events;
}

static void check_read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check(w, i, offset, bytes, false);
}
static void check_write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check(w, i, offset, bytes, true);
  if (r->space == SHARED) note_stores(w, i, offset, bytes);
  if (r->space == GLOBAL) check_sources(w, i, r->buffer, offset, bytes);
}

static void check_rows(Warp *w, const Insn *i, const Region *g, const Rows *r, bool stores) {
  u32 offset[LANES] __attribute__((aligned(32)));
  if (g->space != SHARED || !copies_of(w->cta)->marked) return;
  spread(r, offset);
  check(w, i, offset, 4, stores);
}
static void check_read_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  check_rows(w, i, g, r, false);
}
static void check_write_rows(Warp *w, const Insn *i, const Region *g, const Rows *r) {
  u32 offset[LANES] __attribute__((aligned(32)));
  if (g->space == GLOBAL && copies_of(w->cta)->in_flight) {
    spread(r, offset);
    check_sources(w, i, g->buffer, offset, 4);
  }
  check_rows(w, i, g, r, true);
  if (g->space != SHARED || !copies_of(w->cta)->stored) return;
  spread(r, offset);
  note_stores(w, i, offset, 4);
}

static void check_mbarrier_read(Warp *w, const Insn *i, const u32 *offset) { check(w, i, offset, 8, false); }

/* An arrival ends what a bulk copy reads, too: it completes its transaction. */
static void check_arrival(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, offset, 8, true);
  for (u32 m = w->mask; m; m &= m - 1) copies_of(w->cta)->started[thread_of(w, first_lane(m))] = 0;
}

static void forget_sources(Copies *all, u32 tracked) {
  for (u32 k = 0; all->in_flight && k < all->sources; k++)
    if (all->source[k].buffer && all->source[k].tracked == tracked) forget_source(all, k + 1);
}

static void free_track(Copies *all, u32 number) {
  Tracked *t = &all->tracked[number];
  t->used = false;
  forget_sources(all, number + 1);
  t->next = all->free_track;
  all->free_track = number + 1;
}

static void unmark(Copies *all, Mark *at) {
  if (!at->pc) return;
  forget_source(all, at->source);
  Tracked *t = at->tracked ? &all->tracked[at->tracked - 1] : NULL;
  if (t && !--t->places && all->barrier[t->barrier].now != at->tracked) free_track(all, at->tracked - 1);
  *at = (Mark){0};
  all->marked--;
}

/* The places are marked until the copy is complete. */
static void start_copy(Warp *w, const Insn *i, const u32 *offset) {
  Copies *all = copies_of(w->cta);
  check(w, i, offset, i->size, true);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m), t = thread_of(w, l);
    bool bulk = i->exec == ptx_cp_async_bulk;
    if (bulk) check_proxy(w, i, t, offset[l], STORE);
    for (u32 k = 0; k < i->size / 4u; k++) {
      Mark *at = &all->place[offset[l] / 4 + k];
      unmark(all, at);
      *at = (Mark){.pc = i->pc + 1, .thread = t, .bulk = bulk, .group = w->groups[l], .waits = all->wait[t].waits};
      all->marked++;
    }
    if (bulk) continue;
    all->place[offset[l] / 4].source = all->started[t];
    all->started[t] = 0;
  }
}

/* One that an mbarrier tracks stays marked. */
static void complete_copy(Warp *w, const Insn *i, const u32 *offset) {
  Copies *all = copies_of(w->cta);
  for (u32 m = w->mask; m; m &= m - 1)
    for (u32 k = 0; k < i->size / 4u; k++) {
      Mark *at = &all->place[offset[first_lane(m)] / 4 + k];
      if (!at->tracked) unmark(all, at);
    }
}

static Barrier *barrier_at(Copies *all, u32 offset) {
  for (u32 k = 0; k < all->barriers; k++)
    if (all->barrier[k].offset == offset && !all->barrier[k].gone) return &all->barrier[k];
  return NULL;
}

static Barrier *made_barrier(Worker *k, Copies *all, u32 offset) {
  Barrier *b = barrier_at(all, offset);
  if (b) return b;
  Barrier *more = grown(all->barrier, &all->barrier_room, all->barriers + 1, sizeof *more);
  if (!more) { out_of_memory(k); return NULL; }
  all->barrier = more;
  b = &more[all->barriers++];
  *b = (Barrier){.offset = offset};
  return b;
}

/* The copies of the phase that an mbarrier is in, as their number + 1; 0 without memory. */
static u32 tracked_now(Worker *k, Copies *all, Barrier *b) {
  if (b->now) return b->now;
  u32 at = all->free_track;
  if (at) {
    all->free_track = all->tracked[at - 1].next;
  } else {
    Tracked *more = grown(all->tracked, &all->track_room, all->tracks + 1, sizeof *more);
    if (!more) { out_of_memory(k); return 0; }
    all->tracked = more;
    at = ++all->tracks;
    more[at - 1] = (Tracked){0};
  }
  Tracked *t = &all->tracked[at - 1];
  *t = (Tracked){.barrier = (u32)(b - all->barrier), .phase = b->phase, .observer = t->observer, .room = t->room,
                 .used = true};
  return b->now = at;
}

static void track_copy(Warp *w, const Insn *i, u32 lane, u32 offset, u32 barrier) {
  Copies *all = copies_of(w->cta);
  Barrier *b = made_barrier(w->worker, all, barrier);
  u32 number = b ? tracked_now(w->worker, all, b) : 0, thread = thread_of(w, lane);
  if (!number) return;
  for (u32 k = 0; k < i->size / 4u; k++) {
    Mark *at = &all->place[offset / 4 + k];
    if (at->tracked) continue;
    at->tracked = number;
    all->tracked[number - 1].places++;
    if (at->source) all->source[at->source - 1].tracked = number;
    at->source = 0;
  }
  if (i->exec != ptx_cp_async_bulk) return;
  b->brought += i->size;
  b->pc = i->pc;
  b->thread = thread;
  if (all->started[thread]) all->source[all->started[thread] - 1].tracked = number;
}

static void observe_end(Warp *w, u32 lane, Copies *all, u32 number) {
  Tracked *t = &all->tracked[number];
  u32 thread = thread_of(w, lane);
  if (observed(t, thread)) return;
  Observer *more = grown(t->observer, &t->room, t->observers + 1, sizeof *more);
  if (!more) { out_of_memory(w->worker); return; }
  if (!t->observers) forget_sources(all, number + 1);
  t->observer = more;
  more[t->observers++] = (Observer){thread, phase_of(w->cta), order_of(w->cta) ? order_of(w->cta)->epoch[thread] : 0};
  t->thread[thread / LANES] |= 1u << thread % LANES;
}

/* A wait that succeeds has observed the end of each phase before the present one. */
static void pass_mbarrier(Warp *w, const Insn *i, u32 lane, u32 barrier) {
  (void)i;
  Copies *all = copies_of(w->cta);
  const Barrier *b = barrier_at(all, barrier);
  all->synced[w->index] = ++all->events;
  for (u32 k = 0; b && k < all->tracks; k++) {
    Tracked *t = &all->tracked[k];
    if (!t->used || t->barrier != (u32)(b - all->barrier)) continue;
    if (t->phase < b->phase) observe_end(w, lane, all, k);
    else t->waited = true;
  }
}

static void end_phase(Warp *w, u32 offset) {
  Copies *all = copies_of(w->cta);
  Barrier *b = made_barrier(w->worker, all, offset);
  if (!b) return;
  u32 now = b->now;
  b->phase++;
  b->now = 0;
  if (now && !all->tracked[now - 1].places) free_track(all, now - 1);
}

/* The transactions of a phase come out at zero, or it ends before its copies do, or never. `size`: the bytes that
 * the copies brought in all phases; `extra`: those that the phases expected. */
static void check_bytes(Cta *c, const Barrier *b) {
  s32 pending = b->brought ? pending_bytes(c, b->offset) : 0;
  if (!pending) return;
  report(c->worker, (Report){.kind = BARRIER_COUNT, .flags = OTHER_BYTES, .pc = b->pc, .pc2 = b->pc, .space = SHARED,
                             .address = b->offset, .block = c->number, .block2 = c->number, .thread = b->thread,
                             .thread2 = b->thread, .count = 1, .size = b->brought,
                             .extra = b->brought + (u32)pending});
}

static void end_block(Cta *c) {
  Copies *all = copies_of(c);
  for (u32 k = 0; k < all->barriers; k++)
    if (!all->barrier[k].gone) check_bytes(c, &all->barrier[k]);
}

/* The launch ends because threads wait: where copies brought more than a phase expects, it never ends. */
static void end_waiting(Warp *w, u32 kind, u32 pc, u32 extra) {
  (void)pc, (void)extra;
  const Copies *all = copies_of(w->cta);
  for (u32 k = 0; (kind == STANDSTILL || kind == TIMEOUT) && k < all->barriers; k++) {
    const Barrier *b = &all->barrier[k];
    if (!b->gone && pending_bytes(w->cta, b->offset) < 0) check_bytes(w->cta, b);
  }
}

/* Before mbarrier.init and mbarrier.inval. */
static void end_barrier(Warp *w, const Insn *i, const u32 *offset) {
  check(w, i, offset, 8, true);
  for (u32 m = w->mask; m; m &= m - 1) {
    Barrier *b = barrier_at(copies_of(w->cta), offset[first_lane(m)]);
    if (!b) continue;
    check_bytes(w->cta, b);
    b->gone = b->now;
    b->brought = 0;
  }
}

/* A barrier of the whole block makes what one thread observed known to all. */
static void spread_to_block(Cta *c, u32 id, bool full) {
  (void)id;
  Copies *all = copies_of(c);
  bool any = false;
  all->events++;
  for (u32 x = 0; x < c->warps; x++) all->synced[x] = all->events;
  for (u32 k = 0; full && k < all->tracks; k++) {
    Tracked *t = &all->tracked[k];
    any |= t->known = t->used && t->observers;
  }
  for (u32 k = 0; any && k < places_in(c); k++)
    if (all->place[k].tracked && all->tracked[all->place[k].tracked - 1].known) unmark(all, &all->place[k]);
}

/* Whether a wait by the active lanes is one for a thread's copies of a group. */
static bool covers(const Warp *w, u32 left, bool uncommitted, u32 thread, u32 group) {
  u32 l = thread - w->base;
  return l < LANES && w->lane[l] && (uncommitted || group + left < w->groups[l]);
}

/* The active lanes have waited for all their groups but the newest `left`, or for all their copies. */
static void await_groups(Warp *w, u32 left, bool uncommitted) {
  Copies *all = copies_of(w->cta);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    GroupWait *g = &all->wait[thread_of(w, l)];
    *g = (GroupWait){left, w->groups[l], g->waits + 1};
  }
  for (u32 k = 0; all->tracks && all->marked && k < places_in(w->cta); k++) {
    Mark *at = &all->place[k];
    if (at->tracked && !at->bulk && covers(w, left, uncommitted, at->thread, at->group)) unmark(all, at);
  }
  for (u32 k = 0; all->tracks && all->in_flight && k < all->sources; k++) {
    const Source *s = &all->source[k];
    if (s->tracked && !s->bulk && covers(w, left, uncommitted, s->thread, s->group)) forget_source(all, k + 1);
  }
}

const Watcher copies_watcher = {
    .listens = listens, .block_created = make, .block_started = reset, .block_ended = end_block,
    .block_destroyed = discard, .read = check_read, .read_part = check_read, .write = check_write, .atomic = check_write, .atomic_part = check_write,
    .read_rows = check_read_rows, .write_rows = check_write_rows,
    .mbarrier_set = end_barrier, .mbarrier_arrived = check_arrival, .mbarrier_completed = end_phase,
    .mbarrier_tested = check_mbarrier_read, .mbarrier_passed = pass_mbarrier, .barrier_completed = spread_to_block,
    .copy_read = note_source, .copy_started = start_copy, .copy_completed = complete_copy, .copy_tracked = track_copy,
    .copies_awaited = await_groups, .copied_out = copy_out, .bulk_grouped = end_groups, .proxy_fenced = fence_proxy,
    .warp_synced = sync_warp, .fault = end_waiting};
