/* Asynchronous copies in flight: an access to the place that a copy will write, before the copy is
 * complete, is a race, the thread's own access included. A copy that an mbarrier tracks is complete for
 * its own thread; its place stays marked until some thread has waited for that mbarrier. A write to what
 * a copy in flight reads is a race as well. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "machine/rows.h"
#include "watch/findings.h"

/* The copy that will write 4 bytes of shared memory: its pc + 1, thread, the mbarrier that tracks it, as
 * its offset + 1, and, at its first place, the number of its source + 1. */
typedef struct { u32 pc, thread, barrier, source; } Place;

/* What one lane's copy in flight reads of a buffer of global memory; buffer: NULL, it is complete. */
typedef struct { const Buffer *buffer; u32 from, to, thread, pc, next; } Source;

typedef struct {
  Source *source; u32 sources, source_room, in_flight, free_source;
  Place *place;                 /* of each 4 bytes of shared memory; NULL before the first copy */
  u32 started[MAX_BLOCK_THREADS]; /* the source + 1 of the copy that each thread starts */
  u32 marked, tracked;          /* copies of lanes in flight, and 4-byte places of tracked copies */
} Copies;

static Copies *copies_of(const Cta *c) { return c->state[copies_slot]; }
static u32 places_in(const Cta *c) { return c->worker->launch->shared_bytes / 4 + 1; }

static bool listens(const Launch *n) {
  for (u32 b = 0; b < n->blocks; b++)
    for (u32 k = n->block[b].first; k < n->block[b].end; k++)
      if (n->insn[k].exec == ptx_cp_async || n->insn[k].exec == ptx_cp_async_bulk) return true;
  return false;
}

static void make(Cta *c) {
  Copies *all = c->state[copies_slot] = calloc(1, sizeof *all);
  if (all) all->place = calloc(places_in(c), sizeof(Place));
  if (!all || !all->place) out_of_memory(c->worker);
}

static void discard(Cta *c) {
  if (copies_of(c)) {
    free(copies_of(c)->place);
    free(copies_of(c)->source);
  }
  free(copies_of(c));
}

static void reset(Cta *c) {
  Copies *all = copies_of(c);
  if (all->marked) memset(all->place, 0, places_in(c) * sizeof(Place));
  memset(all->started, 0, sizeof all->started);
  all->marked = all->tracked = all->sources = all->in_flight = all->free_source = 0;
}

static void check(Warp *w, const Insn *i, const u32 *offset, u32 bytes, bool stores) {
  const Place *to = copies_of(w->cta)->place;
  if (!copies_of(w->cta)->marked) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m), at = offset[l] / 4;
    while (!to[at].pc && at < (offset[l] + bytes - 1) / 4) at++;
    if (!to[at].pc) continue;
    report(w->worker, (Report){.kind = RACE, .flags = IN_FLIGHT | OTHER_STORE | (stores ? STORE : 0),
                               .pc = i->pc, .pc2 = to[at].pc - 1, .space = SHARED, .address = offset[l],
                               .block = w->cta->number, .block2 = w->cta->number, .size = bytes,
                               .thread = thread_of(w, l), .thread2 = to[at].thread, .count = 1});
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
                                 .thread = thread_of(w, l), .thread2 = s->thread, .count = 1});
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
  if (all->sources == all->source_room) {
    u32 room = all->source_room ? 2 * all->source_room : 64;
    Source *more = realloc(all->source, room * sizeof *more);
    if (!more) { out_of_memory(k); return 0; }
    all->source = more;
    all->source_room = room;
  }
  return ++all->sources;
}

/* Before the copy starts: it is not known yet where it writes. */
static void note_source(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  Copies *all = copies_of(w->cta);
  for (u32 m = r->space == GLOBAL ? w->mask : 0; m; m &= m - 1) {
    u32 l = first_lane(m), at = new_source(w->worker, all);
    if (!at) return;
    all->source[at - 1] = (Source){.buffer = r->buffer, .from = offset[l], .to = offset[l] + bytes,
                                   .thread = thread_of(w, l), .pc = i->pc};
    all->started[thread_of(w, l)] = at;
    all->in_flight++;
  }
}

static void forget_source(Copies *all, Place *at) {
  if (!at->source) return;
  all->source[at->source - 1].buffer = NULL;
  all->source[at->source - 1].next = all->free_source;
  all->free_source = at->source;
  at->source = 0;
  all->in_flight--;
}

static void check_read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check(w, i, offset, bytes, false);
}
static void check_write(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (r->space == SHARED) check(w, i, offset, bytes, true);
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
}

static void check_mbarrier_write(Warp *w, const Insn *i, const u32 *offset) { check(w, i, offset, 8, true); }
static void check_mbarrier_read(Warp *w, const Insn *i, const u32 *offset) { check(w, i, offset, 8, false); }

static void unmark_tracked(Copies *all, Place *at) {
  *at = (Place){0};
  all->marked--;
  all->tracked--;
}

/* The places are marked until the copy is complete. */
static void start_copy(Warp *w, const Insn *i, const u32 *offset) {
  Copies *all = copies_of(w->cta);
  check(w, i, offset, i->size, true);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    forget_source(all, &all->place[offset[l] / 4]);
    for (u32 k = 0; k < i->size / 4u; k++) {
      Place *at = &all->place[offset[l] / 4 + k];
      if (at->barrier) unmark_tracked(all, at);
      *at = (Place){.pc = i->pc + 1, .thread = thread_of(w, l), .source = at->source};
    }
    all->place[offset[l] / 4].source = all->started[thread_of(w, l)];
    all->started[thread_of(w, l)] = 0;
    all->marked++;
  }
}

static void complete_copy(Warp *w, const Insn *i, const u32 *offset) {
  Copies *all = copies_of(w->cta);
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    forget_source(all, &all->place[offset[l] / 4]);
    for (u32 k = 0; k < i->size / 4u; k++) all->place[offset[l] / 4 + k].pc = 0;
    all->marked--;
  }
}

static void track_copy(Warp *w, const Insn *i, u32 lane, u32 offset, u32 barrier) {
  Copies *all = copies_of(w->cta);
  for (u32 k = 0; k < i->size / 4u; k++)
    all->place[offset / 4 + k] = (Place){i->pc + 1, thread_of(w, lane), barrier + 1};
  all->marked += i->size / 4u;
  all->tracked += i->size / 4u;
}

static void pass_mbarrier(Warp *w, const Insn *i, u32 lane, u32 barrier) {
  (void)i;
  (void)lane;
  Copies *all = copies_of(w->cta);
  for (u32 k = 0; all->tracked && k < places_in(w->cta); k++)
    if (all->place[k].barrier == barrier + 1) unmark_tracked(all, &all->place[k]);
}

/* The active lanes have waited for all their copies, tracked ones too. */
static void unmark_own(Warp *w) {
  Copies *all = copies_of(w->cta);
  for (u32 k = 0; all->tracked && k < places_in(w->cta); k++) {
    const Place *at = &all->place[k];
    u32 l = at->thread - w->base;
    if (at->barrier && l < LANES && w->lane[l]) unmark_tracked(all, &all->place[k]);
  }
}

const Watcher copies_watcher = {
    .listens = listens, .block_created = make, .block_started = reset, .block_destroyed = discard,
    .read = check_read, .read_part = check_read, .write = check_write, .atomic = check_write,
    .read_rows = check_read_rows, .write_rows = check_write_rows,
    .mbarrier_set = check_mbarrier_write, .mbarrier_arrived = check_mbarrier_write,
    .mbarrier_tested = check_mbarrier_read, .mbarrier_passed = pass_mbarrier,
    .copy_read = note_source, .copy_started = start_copy, .copy_completed = complete_copy, .copy_tracked = track_copy,
    .copies_awaited = unmark_own};
