/* Old values. Memory is sequentially consistent: a load gives the newest value. In a launch with Launch.stale
 * the loads that it names give the value before, or are reported to be able to, where two things hold:
 * - the newest write is strong, the load is morally strong towards it, and neither what each thread knows nor what any
 *   read observed puts the write before the load in causality order: then the axioms of the PTX manual allow the load
 *   to come before the write in communication order;
 * - the thread did something before that comes after the write in every sequentially consistent order: else another
 *   order of blocks and warps gives the same value. For this each thread has a clock of all strong accesses that its
 *   own follow, because they conflict or by barriers.
 * A load counts as having observed the write all the same, so that its thread misses it once and no wait is longer than
 * a round. Read-modify-writes are never old: they would have to take another's place in coherence order. */
#include <stdlib.h>
#include <string.h>
#include "machine/instructions/operation.h"
#include "watch/visit.h"

enum { PLACES = 1 << 12, MOST_MISSES = 1 << 12, MOST_FOLLOWED = 1 << 18, MOST_READERS = 48 }; /* readers that races_ordered.c keeps all */

/* An access: which of its thread's it was, from 1, and what that thread followed before. */
typedef struct { Clock *before; u32 block, thread, event; } Mark;
/* A place of strong accesses: the value before its newest write, if `kept`; that write, and the last read since, which
 * has what others read in `before`. */
typedef struct {
  u64 place, value, change;
  u32 size, misses;
  bool kept;
  Mark written, read;
} Old;
typedef struct { Old old[PLACES]; u64 value[LANES]; u32 lanes, followed; u64 changes; } OldValues;
/* What a thread's next access follows, besides its own; how many it made, and how many of them its block knows from
 * barriers; its last read, of which another round changes nothing. */
typedef struct { Clock *follows; u32 events, given; u64 place, change; } Followed;

static OldValues *old_values_of(const Worker *k) { return k->state[old_values_slot]; }
static Followed *followed_of(const Cta *c) { return c->state[old_values_slot]; }

static void make_old(Worker *k) {
  k->state[old_values_slot] = calloc(1, sizeof(OldValues));
  if (!old_values_of(k)) out_of_memory(k);
}
static void drop_old(Worker *k, Old *o) {
  drop_clock(shape_of(k->launch), &o->written.before);
  drop_clock(shape_of(k->launch), &o->read.before);
}
static void discard_old(Worker *k) {
  for (u32 p = 0; old_values_of(k) && p < PLACES; p++) drop_old(k, &old_values_of(k)->old[p]);
  free(old_values_of(k));
}
static void make_followed(Cta *c) {
  c->state[old_values_slot] = calloc(c->nthreads, sizeof(Followed));
  if (!followed_of(c)) out_of_memory(c->worker);
}
static void forget_followed(Cta *c) {
  for (u32 t = 0; followed_of(c) && t < c->nthreads; t++) {
    drop_clock(shape_of(c->worker->launch), &followed_of(c)[t].follows);
    followed_of(c)[t] = (Followed){0};
  }
}
static void discard_followed(Cta *c) {
  forget_followed(c);
  free(followed_of(c));
}

/* Never 0. */
static u64 key_of(const Warp *w, const Region *r, u32 offset) {
  u64 where = r->space == SHARED ? ~(u64)w->cta->number : (u64)(r->buffer - w->launch->buffer) + 1;
  return where << 32 | offset;
}

/* The last places are kept, one for each hash. */
static Old *old_at(const Warp *w, u64 place) {
  Old *o = &old_values_of(w->worker)->old[(u32)(place * 0x9E3779B97F4A7C15ull >> 40) % PLACES];
  if (o->place == place) return o;
  drop_old(w->worker, o);
  *o = (Old){.place = place};
  return o;
}

static u64 value_in(const Region *r, u32 offset, u32 bytes) {
  u64 x = 0;
  memcpy(&x, r->data + offset, bytes < sizeof x ? bytes : sizeof x);
  return x;
}

static void add_event(Warp *w, Clock **to, u32 block, u32 thread, u32 event) {
  Worker *k = w->worker;
  Shape s = shape_of(w->launch);
  if (!event || knows(s, *to, block, 0, thread, event)) return;
  Members *own = shared_clock((void *)(*to ? members_of(s, *to, block) : NULL));
  raise_epoch(k, s, &own, 0, thread, event);
  Clock *now = clock_with(k, s, *to, block, own);
  drop_members(s, &own);
  drop_clock(s, to);
  *to = now;
}

static bool is_by(const Mark *m, const Warp *w, u32 thread) {
  return m->block == w->cta->number && m->thread == thread;
}

static void join_mark(Warp *w, u32 thread, Clock **to, const Mark *m) {
  if (!m->event || is_by(m, w, thread)) return;
  join_clock(w->worker, shape_of(w->launch), to, m->before);
  add_event(w, to, m->block, m->thread, m->event);
}

static void set_mark(Warp *w, u32 thread, Mark *m, Followed *t) {
  drop_clock(shape_of(w->launch), &m->before);
  *m = (Mark){shared_clock(t->follows), w->cta->number, thread, ++t->events};
}

/* A strong access by a thread follows those that conflict with it. */
static void follow(Warp *w, u32 thread, Old *o, bool writes) {
  Followed *t = &followed_of(w->cta)[thread];
  if (!writes && t->place == o->place && t->change == o->change) return;
  old_values_of(w->worker)->followed++;
  join_mark(w, thread, &t->follows, &o->written);
  if (writes) {
    if (o->read.event) join_mark(w, thread, &t->follows, &o->read);
    set_mark(w, thread, &o->written, t);
    drop_clock(shape_of(w->launch), &o->read.before);
    o->read = (Mark){0};
    o->change = ++old_values_of(w->worker)->changes;
    return;
  }
  Clock *others = NULL;
  if (!is_by(&o->read, w, thread)) join_mark(w, thread, &others, &o->read);
  set_mark(w, thread, &o->read, t);
  join_clock(w->worker, shape_of(w->launch), &o->read.before, others);
  drop_clock(shape_of(w->launch), &others);
  t->place = o->place;
  t->change = o->change;
}

static void note_write(Warp *w, u32 thread, Old *o, u64 value, u32 size) {
  follow(w, thread, o, true);
  o->kept = true;
  o->misses = 0;
  o->value = value;
  o->size = size;
}

/* Too many accesses are not followed any more: nothing is known then. */
static bool is_followed_on(const Warp *w, const Region *r) {
  return (r->space == SHARED || r->space == GLOBAL) && old_values_of(w->worker)->followed < MOST_FOLLOWED;
}

/* What a store replaces; where lanes write one place at once, or what they write is not one element, nothing is kept. */
static void note_store(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (!is_followed_on(w, r) || !is_strong(w, i, r)) return;
  bool one = i->count == 1 && bytes <= sizeof(u64);
  for (u32 m = w->mask; m; m &= m - 1)
    for (u32 l = first_lane(m), e = 0; e < bytes; e += i->size) {
      Old *o = old_at(w, key_of(w, r, offset[l] + e));
      note_write(w, thread_of(w, l), o, value_in(r, offset[l], bytes), bytes);
      o->kept = one;
    }
  for (u32 m = w->mask; m && one; m &= m - 1)
    for (u32 e = m & (m - 1), l = first_lane(m); e; e &= e - 1)
      if (offset[first_lane(e)] == offset[l]) old_at(w, key_of(w, r, offset[l]))->kept = false;
}

static void note_update(Warp *w, const Insn *i, const Region *r, u32 lane, u32 offset, u64 old, u64 now) {
  (void)now;
  if (!is_followed_on(w, r)) return;
  Old *o = old_at(w, key_of(w, r, offset));
  if (swap_fails(w, i, lane, old)) follow(w, thread_of(w, lane), o, false);
  else note_write(w, thread_of(w, lane), o, old, i->size);
}

static void note_part(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  if (i->exec == ptx_st) note_store(w, i, r, offset, bytes);
}

/* The newest write of a granule, if the load may come before it; NULL: it may not, or too much is not known. */
static const Node *missed_at(Visit *v) {
  const Ledger *g = ledger_of(v->w->worker);
  u32 readers = 0;
  bool seen;
  for (u32 at = v->head->readers; at; at = g->node[at - 1].next) readers++;
  for (u32 at = readers < MOST_READERS ? v->head->writers : 0; at; at = g->node[at - 1].next) {
    const Node *n = &g->node[at - 1];
    if (n->version != v->head->version) continue;
    bool strongly = writes_strongly(n) && morally_strong(v, n) && !own(v, n, first_lane(n->lanes));
    return strongly && unordered(v, n, &seen) != LANES ? n : NULL;
  }
  return NULL;
}

static const Node *missed(Visit *v) {
  const Cta *c = v->w->cta;
  u32 shift = v->buffer ? v->w->launch->global_shift : v->w->launch->shared_shift;
  const Node *n = NULL;
  for (u32 g = v->at >> shift; g <= (v->at + v->size - 1) >> shift; g++) {
    v->head = v->buffer ? (Head *)&v->buffer->cell[g] : &order_of(c)->head[g];
    if (!v->buffer && v->head->phase != phase_of(c)) return NULL;
    if (!(n = missed_at(v))) return NULL;
  }
  return n;
}

static void report_old(const Visit *v, const Node *n) {
  Warp *w = v->w;
  u32 other = n->warp * LANES + first_lane(n->lanes);
  u32 flags = OTHER_STORE | (n->access == UPDATES ? OTHER_ATOMIC : 0);
  flags |= n->block == w->cta->number ? 0 : ACROSS_BLOCKS;
  report(w->worker, (Report){.kind = OLD_VALUE, .flags = flags, .pc = v->i->pc, .pc2 = n->pc, .count = 1,
                             .space = v->buffer ? GLOBAL : SHARED, .address = v->at,
                             .buffer = v->buffer ? (u32)(v->buffer - w->launch->buffer) : 0,
                             .block = w->cta->number, .block2 = n->block, .thread = v->thread, .thread2 = other,
                             .size = v->size});
}

/* Whether a load may give the value before the newest one, and no other order of blocks and warps would. */
static bool may_be_old(Visit *v, Old *o, u64 now) {
  const Warp *w = v->w;
  const Mark *m = &o->written;
  if (!w->launch->stale[v->i->pc] || !o->kept || o->size != v->size || o->value == now) return false;
  if (o->misses >= MOST_MISSES || points_to_shared(o->value)) return false;
  if (!knows(shape_of(w->launch), followed_of(w->cta)[v->thread].follows, m->block, 0, m->thread, m->event)) return false;
  const Node *n = missed(v);
  if (n) report_old(v, n);
  return n;
}

static void miss_writes(Warp *w, const Insn *i, const Region *r, const u32 *offset, u32 bytes) {
  OldValues *d = old_values_of(w->worker);
  if (!is_followed_on(w, r) || !is_strong(w, i, r)) return;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = first_lane(m);
    Old *o = old_at(w, key_of(w, r, offset[l]));
    Visit v = {.w = w, .i = i, .buffer = r->buffer, .lane = l, .thread = thread_of(w, l), .at = offset[l],
               .offset = offset[l], .size = bytes, .access = PEEKS};
    bool old = i->count == 1 && may_be_old(&v, o, value_in(r, offset[l], bytes));
    if (old) w->worker->gave_old = w;
    if (!old || !w->launch->gives_old) { follow(w, v.thread, o, false); continue; }
    d->lanes |= 1u << l;
    d->value[l] = o->value;
    o->misses++;
  }
}

static void give_old(Warp *w, const Insn *i) {
  OldValues *d = old_values_of(w->worker);
  for (; d->lanes; d->lanes &= d->lanes - 1) {
    u32 l = first_lane(d->lanes), unused = 64 - 8 * i->size;
    u64 x = d->value[l];
    set_register_lane(w, i->d, i->width, l, i->flag & SIGNED_LOAD ? (u64)((s64)(x << unused) >> unused) : x);
  }
}

/* What any of some threads follows, all of them follow after a barrier. */
static void join_followed(Warp *w, Clock **all, u32 mask) {
  const Clock *before = NULL; /* most follow the same since their last barrier */
  for (u32 m = mask; m; m &= m - 1) {
    u32 thread = thread_of(w, first_lane(m));
    Followed *t = &followed_of(w->cta)[thread];
    if (t->follows != before) join_clock(w->worker, shape_of(w->launch), all, t->follows);
    before = t->follows;
    if (t->given < t->events) add_event(w, all, w->cta->number, thread, t->given = t->events);
  }
}
static void give_followed(Warp *w, Clock **all, u32 mask) {
  for (u32 m = mask; m; m &= m - 1) {
    Followed *t = &followed_of(w->cta)[thread_of(w, first_lane(m))];
    drop_clock(shape_of(w->launch), &t->follows);
    t->follows = shared_clock(*all);
  }
}

static void follow_warp(Warp *w, u32 mask) {
  Clock *all = NULL;
  join_followed(w, &all, mask);
  give_followed(w, &all, mask);
  drop_clock(shape_of(w->launch), &all);
}

static void follow_barrier(Cta *c, u32 id, bool full) {
  (void)full;
  Clock *all = NULL;
  void (*const passes[])(Warp *, Clock **, u32) = {join_followed, give_followed};
  for (u32 pass = 0; pass < 2; pass++)
    for (u32 x = 0; x < c->warps; x++)
      for (u32 n = 0; n < c->warp[x].waits; n++)
        if (leaves_barrier(&c->warp[x].wait[n], id)) passes[pass](&c->warp[x], &all, c->warp[x].wait[n].mask);
  drop_clock(shape_of(c->worker->launch), &all);
}

static bool has_old_values(const Launch *n) { return n->stale && n->exact; }

const Watcher old_values_watcher = {
    .listens = has_old_values, .worker_started = make_old, .worker_ended = discard_old, .block_created = make_followed,
    .block_started = forget_followed, .block_destroyed = discard_followed, .read = miss_writes, .loaded = give_old,
    .write = note_store, .atomic_part = note_part, .updated = note_update,
    .warp_synced = follow_warp, .barrier_completed = follow_barrier};
