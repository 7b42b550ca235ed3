/* Lost updates: a thread reads a place, by an atomic or a strong load, and writes there what it made of the
 * value; what another thread wrote in between is lost. decode/updates.py finds the instructions.
 *
 * The value itself is compared: where the thread finds what it left there, nothing is lost, whatever happened
 * in between. So a thread that takes a value and leaves a mark, on which the others wait, is right. Only what
 * happens in the order that is run is reported: in lock-free code a value may say whose turn it is. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "machine/memory.h"
#include "watch/findings.h"
#include "watch/shadow.h"

enum { PLACES = 4 };
#define SHARED_PLACE (1ull << 63)

/* Places that a thread read, and what it left in each. */
typedef struct { u64 place[PLACES], left[PLACES]; u32 next; } Reads;

/* By place: who changed it last. */
typedef struct { u64 place; u32 block, thread, pc, flags; } Change;
typedef struct { Change *change; u32 room, used; } Changes;

static Reads *reads_of(const Cta *c) { return c->state[updates_slot]; }
static Changes *changes_of(const Worker *k) { return k->state[updates_slot]; }

static void make(Cta *c) {
  Worker *k = c->worker;
  c->state[updates_slot] = calloc(c->nthreads, sizeof(Reads));
  if (!changes_of(k)) k->state[updates_slot] = calloc(1, sizeof(Changes));
  if (!reads_of(c) || !changes_of(k)) out_of_memory(k);
}
static void reset(Cta *c) { memset(reads_of(c), 0, c->nthreads * sizeof(Reads)); }
static void discard(Cta *c) { free(reads_of(c)); }
static void end(Worker *k) {
  if (changes_of(k)) free(changes_of(k)->change);
  free(changes_of(k));
}

/* Never 0. */
static u64 place_of(const Warp *w, const Region *r, u32 offset) {
  if (r->space == SHARED) return SHARED_PLACE | (u64)w->cta->number << 32 | offset;
  return (u64)(r->buffer - w->launch->buffer + 1) << 32 | offset;
}

static Change *slot_of(const Changes *t, u64 place) {
  u32 at = (u32)((place * 0x9E3779B97F4A7C15ull) >> 32) & (t->room - 1);
  while (t->change[at].place && t->change[at].place != place) at = (at + 1) & (t->room - 1);
  return &t->change[at];
}

/* The entry of a place; NULL without memory, or when it has none and is not `added`. */
static Change *change_of(Worker *k, u64 place, bool added) {
  Changes *t = changes_of(k);
  if (added && 2 * (t->used + 1) > t->room) {
    Changes more = {.room = t->room ? 2 * t->room : 64, .used = t->used};
    more.change = calloc(more.room, sizeof(Change));
    if (!more.change) { out_of_memory(k); return NULL; }
    for (u32 x = 0; x < t->room; x++)
      if (t->change[x].place) *slot_of(&more, t->change[x].place) = t->change[x];
    free(t->change);
    *t = more;
  }
  Change *found = t->room ? slot_of(t, place) : NULL;
  if (found && !found->place && added) {
    found->place = place;
    t->used++;
  }
  return found && found->place ? found : NULL;
}

static u64 *left_by(const Warp *w, u32 lane, u64 place) {
  Reads *d = &reads_of(w->cta)[thread_of(w, lane)];
  for (u32 k = 0; k < PLACES; k++)
    if (d->place[k] == place) return &d->left[k];
  return NULL;
}

static void note_read(Warp *w, u32 lane, u64 place, u64 left) {
  Reads *d = &reads_of(w->cta)[thread_of(w, lane)];
  u64 *known = left_by(w, lane, place);
  if (known) { *known = left; return; }
  u32 at = d->next++ % PLACES;
  d->place[at] = place;
  d->left[at] = left;
  change_of(w->worker, place, true);
}

static void note_change(Warp *w, const Insn *i, u32 lane, u64 place, u32 flags) {
  Change *c = change_of(w->worker, place, false);
  if (c) *c = (Change){place, w->cta->number, thread_of(w, lane), i->pc, flags};
}

static void report_loss(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, const Change *c, u32 flags) {
  flags |= (c->flags & STORE ? OTHER_STORE : 0) | (c->flags & ATOMIC ? OTHER_ATOMIC : 0);
  flags |= c->block != w->cta->number ? ACROSS_BLOCKS : c->thread / LANES == w->index ? WITHIN_WARP : 0;
  report(w->worker, (Report){.kind = LOST_UPDATE, .flags = flags, .pc = i->pc, .pc2 = c->pc, .count = 1,
                             .space = r->space, .address = offset,
                             .buffer = r->buffer ? (u32)(r->buffer - w->launch->buffer) : 0,
                             .block = w->cta->number, .block2 = c->block, .thread = thread_of(w, lane),
                             .thread2 = c->thread, .size = i->size});
}

static s64 extended(u64 x, u32 bytes) { return (s64)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes); }

/* Whether a minimum or maximum that the thread writes is worse than what is there. */
static bool is_worse(u64 left, u64 old, u64 now, u32 bytes) {
  s64 a = extended(left, bytes), b = extended(old, bytes), c = extended(now, bytes);
  return a < c ? c < b : c > b && a > c;
}

/* A write that may end an update finds `old` and leaves `now`; `flags` as in a Report. */
static void check_write(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now, u32 flags) {
  u64 place = place_of(w, r, offset);
  const u64 *left = left_by(w, lane, place);
  const Change *c = change_of(w->worker, place, false);
  if (!left || *left == old || !c || (c->block == w->cta->number && c->thread == thread_of(w, lane))) return;
  bool loses = flags & FAILED_SWAP || i->used & UPDATE_WRITE || (i->used & UPDATE_MERGE && old != now) ||
               (i->used & UPDATE_BEST && is_worse(*left, old, now, i->size));
  if (loses) report_loss(w, i, r, lane, offset, c, flags);
}

static bool is_seen_by_others(const Region *r) { return r->space == SHARED || r->space == GLOBAL; }
enum { WRITES = UPDATE_WRITE | UPDATE_MERGE | UPDATE_BEST };

static void check_update(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now) {
  if (!is_seen_by_others(r)) return;
  u64 place = place_of(w, r, offset);
  u64 mask = ~0ull >> (64 - 8 * i->size);
  old &= mask, now &= mask;
  if (i->used & WRITES) check_write(w, i, r, lane, offset, old, now, STORE | ATOMIC | (swap_fails(w, i, lane, old) ? FAILED_SWAP : 0));
  u64 *left = left_by(w, lane, place);
  if (i->used & UPDATE_READ) note_read(w, lane, place, now);
  else if (left) *left = now;
  if (old != now) note_change(w, i, lane, place, STORE | ATOMIC);
}

static u64 value_at(const Region *r, u32 offset, u32 bytes) {
  u64 x = 0;
  memcpy(&x, r->data + offset, bytes < sizeof x ? bytes : sizeof x);
  return x;
}

static void check_read(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!is_seen_by_others(r)) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 place = place_of(w, r, offset[l]), x = value_at(r, offset[l], bytes), *left = left_by(w, l, place);
    if (i->used & UPDATE_READ) note_read(w, l, place, x);
    else if (left) *left = x;
  }
}

static void check_store(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!is_seen_by_others(r)) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    u64 place = place_of(w, r, offset[l]), old = value_at(r, offset[l], bytes), now = old;
    u64 *left = left_by(w, l, place);
    if (i->width && i->count == 1) now = register_lane(w, i->d, i->width, l) & ~0ull >> (64 - 8 * i->size);
    if (i->used & WRITES) check_write(w, i, r, l, offset[l], old, now, STORE);
    if (left) *left = now;
    note_change(w, i, l, place, STORE);
  }
}

static void check_part(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (i->exec == ptx_st) check_store(w, i, r, offset, bytes);
}

static bool listens(const Launch *n) { return n->sync & HAS_UPDATES; }

const Watcher updates_watcher = {
    .listens = listens, .block_created = make, .block_started = reset, .block_destroyed = discard,
    .worker_ended = end, .read = check_read, .read_part = check_read, .write = check_store, .updated = check_update,
    .atomic_part = check_part};
