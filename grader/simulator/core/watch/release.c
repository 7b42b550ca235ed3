/* What the values in memory carry from the threads that write them to the threads that read them.
 *
 * A strong write carries what its thread released at the place: by a release at the place itself, or by
 * a fence before the write. A read-modify-write passes on what the value before it carried; a store of
 * another thread ends it. A strong read that observes the write acquires this at once when it is an
 * acquire, else at the thread's next fence. Both sides need a scope that includes the other. */
#include <stdlib.h>
#include <string.h>
#include "watch/order.h"

enum { LEAST_VISITED = 4, MOST_VISITED = 2048 };

static Shape shape(const Warp *w) { return order_of(w->cta)->shape; }

static bool empty(const View *v) { return !v->known && !v->fenced && !v->seen; }

static u64 key_of(const Warp *w, const Place *p) {
  u64 where = p->buffer ? (u64)(p->buffer - w->launch->buffer) + 1 : 0;
  return where << 40 | (u64)p->size << 32 | p->offset;
}

static Visited *slot_of(const Clocks *t, u64 key) {
  u32 at = (u32)(key * 0x9E3779B97F4A7C15u >> 32) & (t->visit_room - 1);
  while (t->visited[at].key && t->visited[at].key != key) at = (at + 1) & (t->visit_room - 1);
  return &t->visited[at];
}

void forget_visits(Shape s, Clocks *t) {
  for (u32 v = 0; t->visits && v < t->visit_room; v++)
    for (u32 x = 0; x < SCOPES; x++) {
      drop_view(s, &t->visited[v].released[x]);
      drop_view(s, &t->visited[v].read[x]);
    }
  free(t->visited);
  t->visited = NULL;
  t->visits = t->visit_room = 0;
}

/* Makes room for one more place. A thread with MOST_VISITED forgets them: later relaxed writes to one then
 * carry nothing, but each release still carries what it releases. */
static bool make_visit_room(Warp *w, Clocks *t) {
  Clocks old = *t;
  if (2 * t->visits < t->visit_room) return true;
  if (t->visits == MOST_VISITED) { forget_visits(shape(w), t); return make_visit_room(w, t); }
  t->visit_room = old.visit_room ? 2 * old.visit_room : LEAST_VISITED;
  t->visited = calloc(t->visit_room, sizeof(Visited));
  if (!t->visited) { *t = old; out_of_memory(w->worker); return false; }
  for (u32 v = 0; v < old.visit_room; v++)
    if (old.visited[v].key) *slot_of(t, old.visited[v].key) = old.visited[v];
  free(old.visited);
  return true;
}

/* What a thread did at a place; NULL when there is nothing, unless `make`. */
static Visited *visited(Warp *w, u32 thread, u64 key, bool make) {
  Clocks *t = &order_of(w->cta)->clocks[thread];
  Visited *v = t->visits ? slot_of(t, key) : NULL;
  if (v && v->key) return v;
  if (!make || !make_visit_room(w, t)) return NULL;
  order_of(w->cta)->visited = true;
  t->visits++;
  v = slot_of(t, key);
  v->key = key;
  return v;
}

static bool in_scope(const Carried *c, const Warp *w, u32 flag) {
  return c->block == w->cta->number || !(c->narrow || flag & SCOPE_CTA);
}

/* The value of a place, when one write wrote all of it that is strong towards this access; 0: none. */
static u32 value_at(const Warp *w, const Place *p, u32 flag) {
  u32 number = p->head[0].carried;
  if (!number) return 0;
  const Carried *c = &ledger_of(w->worker)->carried[number - 1];
  bool whole = c->offset == p->offset && c->size == p->size && in_scope(c, w, flag);
  for (u32 g = 1; g < p->granules; g++) whole &= p->head[g].carried == number;
  return whole ? number : 0;
}

static void add(Worker *k, Shape s, Load *to, const View *released, Clock *fenced) {
  join_view(k, s, &to->released, released);
  join_clock(k, s, &to->fenced, fenced);
}

static const Load *own_load(const Carried *c, u32 block) {
  for (u32 x = 0; x < c->owns; x++)
    if (c->own[x].block == block) return &c->own[x].load;
  return NULL;
}

static void observe_load(Warp *w, u32 thread, u64 key, const Load *l, u32 scope, bool acquires, u32 flag) {
  Order *o = order_of(w->cta);
  Clocks *t = &o->clocks[thread];
  Worker *k = w->worker;
  if (l->fenced) o->far = true;
  join_clock(k, o->shape, &t->seen[scope], l->fenced);
  if (flag & TICKET) join_clock(k, o->shape, &t->ticket.known, l->fenced);
  if (empty(&l->released)) return;
  o->far = true;
  if (acquires) learn(w, thread, &l->released);
  if (flag & TICKET) join_view(k, o->shape, &t->ticket, &l->released);
  join_view(k, o->shape, &t->read[scope], &l->released);
  if (acquires || flag & PASSED_ON || !(w->launch->sync & HAS_ACQUIRES)) return;
  Visited *v = visited(w, thread, key, true);
  if (v) join_view(k, o->shape, &v->read[scope], &l->released);
}

/* A strong read of a place. */
void observe(Warp *w, u32 lane, const Place *p, u32 flag) {
  u32 thread = thread_of(w, lane), number = value_at(w, p, flag);
  bool acquires = flag & ACQUIRE;
  u64 key = key_of(w, p);
  u32 scope = flag & SCOPE_CTA ? BLOCK : DEVICE;
  const Carried *c = number ? &ledger_of(w->worker)->carried[number - 1] : NULL;
  u64 *observed = &order_of(w->cta)->clocks[thread].observed;
  if (c && (acquires || flag & TICKET || *observed != c->change)) { /* else a thread that spins repeats it */
    *observed = c->change;
    const Load *own = own_load(c, w->cta->number);
    observe_load(w, thread, key, &c->load, DEVICE, acquires && scope == DEVICE, flag);
    if (own) observe_load(w, thread, key, own, BLOCK, acquires, flag);
  }
  Visited *v = acquires ? visited(w, thread, key, false) : NULL;
  for (u32 x = scope; v && x < SCOPES; x++) learn(w, thread, &v->read[x]);
}

static void drop_load(Shape s, Load *l) {
  drop_view(s, &l->released);
  drop_clock(s, &l->fenced);
}

static Phases *phases_of(const Order *o, u32 offset) {
  for (u32 x = 0; x < o->mbarriers; x++)
    if (o->phases[x].offset == offset) return &o->phases[x];
  return NULL;
}

/* After the last arrival of a phase: what the mbarrier carries now is what waits for the phase acquire. */
void complete_phase(Warp *w, const Place *p) {
  Order *o = order_of(w->cta);
  Phases *q = phases_of(o, p->offset);
  u32 number = value_at(w, p, 0);
  if (!q && number) {
    Phases *more = grown(o->phases, &o->phase_room, o->mbarriers + 1, sizeof(Phases));
    if (!more) { out_of_memory(w->worker); return; }
    o->phases = more;
    q = &more[o->mbarriers++];
    *q = (Phases){.offset = p->offset};
  }
  if (!number) return;
  const Carried *c = &ledger_of(w->worker)->carried[number - 1];
  const Load *own = own_load(c, w->cta->number);
  add(w->worker, shape(w), &q->load, &c->load.released, c->load.fenced);
  if (own) add(w->worker, shape(w), &q->own, &own->released, own->fenced);
}

/* A wait for an mbarrier's phase succeeds. */
void observe_phase(Warp *w, u32 lane, const Place *p, u32 flag) {
  u32 thread = thread_of(w, lane);
  const Phases *q = phases_of(order_of(w->cta), p->offset);
  u64 key = key_of(w, p);
  if (!q) return;
  observe_load(w, thread, key, &q->load, DEVICE, flag & ACQUIRE, flag);
  observe_load(w, thread, key, &q->own, BLOCK, flag & ACQUIRE, flag);
}

/* All phases of the mbarrier at an offset, or with ALL_PLACES of all mbarriers. */
void forget_phases(Cta *c, u32 offset) {
  Order *o = order_of(c);
  for (u32 x = 0; x < o->mbarriers; x++) {
    if (offset != ALL_PLACES && o->phases[x].offset != offset) continue;
    drop_load(o->shape, &o->phases[x].load);
    drop_load(o->shape, &o->phases[x].own);
  }
  if (offset == ALL_PLACES) o->mbarriers = 0;
}

void forget(Worker *k, Head *h) {
  Ledger *g = ledger_of(k);
  if (!h->carried) return;
  Carried *c = &g->carried[h->carried - 1];
  if (!--c->refs) {
    Shape s = shape_of(k->launch);
    drop_load(s, &c->load);
    for (u32 x = 0; x < c->owns; x++) drop_load(s, &c->own[x].load);
    free(c->own);
    *c = (Carried){.next = g->value_free};
    g->value_free = h->carried;
  }
  h->carried = 0;
}

void discard_values(Worker *k) {
  Ledger *g = ledger_of(k);
  for (u32 v = 0; v < g->values; v++) {
    Head h = {.carried = v + 1};
    if (!g->carried[v].refs) continue;
    g->carried[v].refs = 1;
    forget(k, &h);
  }
  free(g->carried);
  free(g->shown);
  free(g->node);
}

static u32 new_value(Worker *k) {
  Ledger *g = ledger_of(k);
  u32 number = g->value_free;
  if (number) {
    g->value_free = g->carried[number - 1].next;
  } else {
    Carried *p = grown(g->carried, &g->value_room, g->values + 1, sizeof(Carried));
    if (!p) { out_of_memory(k); return 0; }
    g->carried = p;
    number = ++g->values;
  }
  g->carried[number - 1] = (Carried){0};
  return number;
}

/* What a value carries to threads of the device, or of the writer's block alone; NULL without memory. */
static Load *load_for(Warp *w, Carried *c, u32 scope) {
  u32 block = w->cta->number;
  if (scope == DEVICE) return &c->load;
  for (u32 x = 0; x < c->owns; x++)
    if (c->own[x].block == block) return &c->own[x].load;
  Own *more = realloc(c->own, (c->owns + 1) * sizeof(Own));
  if (!more) { out_of_memory(w->worker); return NULL; }
  c->own = more;
  more[c->owns] = (Own){.block = block};
  return &more[c->owns++].load;
}

/* Adds what the thread releases with this write to what the value carries. */
static void add_own(Warp *w, u32 thread, u64 key, Carried *c) {
  Clocks *t = &order_of(w->cta)->clocks[thread];
  const Visited *v = visited(w, thread, key, false);
  for (u32 x = DEVICE; x <= first_scope(w); x++) {
    Load *to = load_for(w, c, x);
    if (!to) return;
    add(w->worker, shape(w), to, &t->fence[x], t->fenced[x]);
    if (v) add(w->worker, shape(w), to, &v->released[x], NULL);
  }
}

/* What is before the thread's release; its next accesses are not. */
static View make_release(Warp *w, u32 thread) {
  View now = release_now(w, thread);
  order_of(w->cta)->epoch[thread]++;
  return now;
}

/* Notes a release at a place, whose later strong writes by this thread carry it too. */
static void note_release(Warp *w, u32 thread, u64 key, u32 flag) {
  View now = make_release(w, thread);
  Visited *v = visited(w, thread, key, true);
  for (u32 x = flag & SCOPE_CTA ? BLOCK : DEVICE; v && x <= first_scope(w); x++)
    join_view(w->worker, shape(w), &v->released[x], &now);
  drop_view(shape(w), &now);
}

/* A release that the value itself passes on to all later ones. */
static void add_release(Warp *w, u32 thread, Carried *c, u32 flag) {
  View now = make_release(w, thread);
  for (u32 x = flag & SCOPE_CTA ? BLOCK : DEVICE; x <= first_scope(w); x++) {
    Load *to = load_for(w, c, x);
    if (to) add(w->worker, shape(w), to, &now, NULL);
  }
  drop_view(shape(w), &now);
}

static bool carries_nothing(Warp *w, u32 thread) {
  const Clocks *t = &order_of(w->cta)->clocks[thread];
  bool none = !t->visits;
  for (u32 x = 0; x < SCOPES; x++) none &= empty(&t->fence[x]) && !t->fenced[x];
  return none;
}

/* A strong write to a place; `updates`: a read-modify-write. */
void carry(Warp *w, u32 lane, const Place *p, u32 flag, bool updates) {
  Worker *k = w->worker;
  u32 thread = thread_of(w, lane);
  u64 key = key_of(w, p);
  settle_fence(w, thread);
  bool releases = flag & RELEASE;
  if (releases && !(flag & PASSED_ON)) note_release(w, thread, key, flag);
  u32 old = updates ? value_at(w, p, flag) : 0, number = old;
  if (!old) {
    for (u32 g = 0; g < p->granules; g++) forget(k, &p->head[g]);
    if (!releases && carries_nothing(w, thread)) return;
    number = new_value(k);
  }
  if (!number) return;
  Carried *c = &ledger_of(k)->carried[number - 1];
  c->refs = p->granules;
  c->block = w->cta->number; c->offset = p->offset; c->size = p->size;
  c->narrow = flag & SCOPE_CTA;
  c->change = ++ledger_of(k)->changes;
  for (u32 g = 0; g < p->granules; g++) p->head[g].carried = number;
  add_own(w, thread, key, c);
  if (releases && flag & PASSED_ON) add_release(w, thread, c, flag);
}
