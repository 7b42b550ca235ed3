/* Orders finer than full barriers: __syncwarp, named barriers, fences. What each thread knows is kept
 * small: of its own block what barriers finer than __syncthreads() ordered in the present phase, of other
 * blocks a clock that threads share as long as it is the same. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "watch/order.h"

void *grown(void *p, u32 *room, u32 want, size_t each) {
  if (want <= *room) return p;
  u32 more = *room ? 2 * *room : 64;
  if (more < want) more = want;
  void *q = realloc(p, (size_t)more * each);
  if (!q) return NULL;
  *room = more;
  return q;
}

/* Lists of nodes lead all over the memory that holds them: in large pages its addresses are found sooner. */
enum { NODES_AT_FIRST = 64, LARGE_PAGE = 2 << 20 };
bool more_nodes(Ledger *g) {
  u32 room = g->node_room ? 2 * g->node_room : NODES_AT_FIRST;
  size_t bytes = room * sizeof(Node);
  Node *p = aligned_alloc(bytes < LARGE_PAGE ? sizeof(Node) : LARGE_PAGE, bytes);
  if (!p) return false;
#ifdef MADV_HUGEPAGE
  if (bytes >= LARGE_PAGE) madvise(p, bytes, MADV_HUGEPAGE);
#endif
  if (g->nodes) memcpy(p, g->node, g->nodes * sizeof(Node));
  free(g->node);
  g->node = p;
  g->node_room = room;
  return true;
}

static bool listens(const Launch *n) { return n->exact; }

static void make(Cta *c) {
  Worker *k = c->worker;
  const Launch *n = k->launch;
  Order *o = c->state[order_slot] = calloc(1, sizeof *o);
  if (!ledger_of(k)) k->state[order_slot] = calloc(1, sizeof(Ledger));
  if (!o || !ledger_of(k)) { out_of_memory(k); return; }
  o->threads = c->nthreads;
  o->shape = shape_of(n);
  o->granules = o->used_from = (n->shared_bytes >> n->shared_shift) + 1;
  o->epoch = calloc(c->warps * LANES, sizeof(u32));
  o->clocks = calloc(o->threads, sizeof(Clocks));
  o->head = calloc(o->granules, sizeof(Head));
  if (!o->epoch || !o->clocks || !o->head) out_of_memory(k);
}

void drop_view(Shape s, View *v) {
  drop_clock(s, &v->known);
  drop_clock(s, &v->fenced);
  drop_clock(s, &v->seen);
}

void join_view(Worker *k, Shape s, View *to, const View *from) {
  join_clock(k, s, &to->known, from->known);
  join_clock(k, s, &to->fenced, from->fenced);
  join_clock(k, s, &to->seen, from->seen);
}

static void drop_far(Shape s, Clocks *t) {
  drop_clock(s, &t->far);
  for (u32 x = 0; x < SCOPES; x++) {
    drop_clock(s, &t->fenced[x]);
    drop_clock(s, &t->seen[x]);
  }
}

static void drop_gathered(Shape s, Gathered *g) {
  drop_members(s, &g->near);
  drop_clock(s, &g->far);
  for (u32 x = 0; x < SCOPES; x++) {
    drop_members(s, &g->fences[x]);
    drop_clock(s, &g->fenced[x]);
    drop_clock(s, &g->seen[x]);
  }
}

static void drop_last_fence(Shape s, LastFence *l) {
  drop_members(s, &l->near);
  drop_clock(s, &l->far);
  drop_clock(s, &l->fenced);
  drop_clock(s, &l->seen);
  *l = (LastFence){0};
}

static void forget_thread(Order *o, Clocks *t) {
  Shape s = o->shape;
  drop_members(s, &t->near);
  t->observed = 0;
  if (!o->far && !o->visited) return; /* a fence sets `far`, too */
  drop_last_fence(s, &t->last);
  drop_far(s, t);
  drop_view(s, &t->ticket);
  for (u32 x = 0; x < SCOPES; x++) {
    drop_view(s, &t->fence[x]);
    drop_view(s, &t->read[x]);
  }
  forget_visits(s, t);
}

static void forget_all(Cta *c) {
  Order *o = order_of(c);
  forget_phases(c, ALL_PLACES);
  drop_view(o->shape, &o->sc);
  for (u32 t = 0; o->clocks && t < o->threads; t++) forget_thread(o, &o->clocks[t]);
  for (u32 b = 0; b < MAX_BARRIERS; b++) drop_gathered(o->shape, &o->gathered[b]);
  o->far = o->visited = false;
}

static void discard(Cta *c) {
  Order *o = order_of(c);
  if (!o) return;
  forget_all(c);
  free(o->phases);
  free(o->epoch); free(o->clocks); free(o->head); free(o);
}

static void discard_ledger(Worker *k) {
  if (ledger_of(k)) {
    discard_values(k);
    drop_view(shape_of(k->launch), &ledger_of(k)->sc);
    drop_joins(shape_of(k->launch), &ledger_of(k)->joins);
  }
  free(ledger_of(k));
}

static void start_block(Cta *c) {
  Order *o = order_of(c);
  forget_all(c);
  for (u32 t = 0; t < o->threads; t++) o->epoch[t] = 1;
  for (u32 g = o->used_from; g < o->used_to; g++) {
    forget(c->worker, &o->head[g]);
    free_list(ledger_of(c->worker), &o->head[g].writers);
    free_list(ledger_of(c->worker), &o->head[g].readers);
    o->head[g] = (Head){0};
  }
  o->used_from = o->granules;
  o->used_to = 0;
}

static void gather_fence(Worker *k, Shape s, Gathered *g, const LastFence *l, u32 thread, u32 narrowest) {
  for (u32 x = l->scope; x <= narrowest; x++) {
    join_members(k, s, &g->fences[x], l->near);
    raise_epoch(k, s, &g->fences[x], l->phase, thread, l->epoch);
    join_clock(k, s, &g->fenced[x], l->far);
  }
}

/* Most threads of a block know the same of other blocks; `before` is what the thread gathered before this one knows,
 * or NULL: the same is not joined again. */
static const Clocks *gather_far(Warp *w, Gathered *g, u32 thread, const Clocks *before) {
  Order *o = order_of(w->cta);
  const Clocks *t = &o->clocks[thread];
  Worker *k = w->worker;
  if (t->last.sc && !t->last.joined) gather_fence(k, o->shape, g, &t->last, thread, first_scope(w));
  if (!before || before->far != t->far) join_clock(k, o->shape, &g->far, t->far);
  for (u32 x = 0; x < SCOPES; x++) {
    if (!before || before->fenced[x] != t->fenced[x]) join_clock(k, o->shape, &g->fenced[x], t->fenced[x]);
    if (!before || before->seen[x] != t->seen[x]) join_clock(k, o->shape, &g->seen[x], t->seen[x]);
  }
  return t;
}

/* After all are gathered: the part of each thread's last fence that is of the own block. */
static void add_fences(Cta *c, Gathered *g) {
  Shape s = order_of(c)->shape;
  for (u32 x = 0; x < SCOPES; x++) {
    if (!g->fences[x]) continue;
    Clock *own = clock_with(c->worker, s, NULL, c->number, g->fences[x]);
    join_clock(c->worker, s, &g->fenced[x], own);
    drop_clock(s, &own);
    drop_members(s, &g->fences[x]);
  }
}

static void give_far(Order *o, const Gathered *g, Clocks *t) {
  drop_far(o->shape, t);
  t->last.joined = true;
  t->far = shared_clock(g->far);
  for (u32 x = 0; x < SCOPES; x++) {
    t->fenced[x] = shared_clock(g->fenced[x]);
    t->seen[x] = shared_clock(g->seen[x]);
  }
}

/* What threads of a warp know is among what the barrier orders. */
static void gather(Warp *w, Gathered *g, u32 mask) {
  Order *o = order_of(w->cta);
  const Members *last = NULL;
  const Clocks *before = NULL;
  for (u32 m = mask; m; m &= m - 1) {
    u32 t = thread_of(w, first_lane(m));
    Members *near = o->clocks[t].near;
    if (near != last) join_members(w->worker, o->shape, &g->near, near);
    last = near;
    if (o->far) before = gather_far(w, g, t, before);
  }
}

/* What they did is, too; their next accesses are not. After `gather` of all threads: most know the same. */
static void gather_own(Warp *w, Gathered *g, u32 mask) {
  Order *o = order_of(w->cta);
  u32 *epoch = o->epoch + w->base;
  raise_warp(w->worker, o->shape, &g->near, phase_of(w->cta), w->index, mask, epoch);
  for (u32 m = mask; m; m &= m - 1) epoch[first_lane(m)]++;
}

static void give(Warp *w, Gathered *g, u32 mask) {
  Order *o = order_of(w->cta);
  for (u32 m = mask; m; m &= m - 1) {
    Clocks *t = &o->clocks[thread_of(w, first_lane(m))];
    drop_members(o->shape, &t->near);
    t->near = shared_clock(g->near);
    if (o->far) give_far(o, g, t);
  }
}

static void sync_warp(Warp *w, u32 mask) {
  Gathered g = {0};
  gather(w, &g, mask);
  gather_own(w, &g, mask);
  add_fences(w->cta, &g);
  give(w, &g, mask);
  drop_gathered(order_of(w->cta)->shape, &g);
}

/* bar.arrive releases what came before it and acquires nothing. */
static void arrive_at_barrier(Warp *w, u32 pc, u32 id, u32 mask, u32 count) {
  (void)pc, (void)count;
  Gathered *g = &order_of(w->cta)->gathered[id];
  gather(w, g, mask);
  gather_own(w, g, mask);
  add_fences(w->cta, g);
}

static void each_waiting(Cta *c, u32 id, void (*f)(Warp *, Gathered *, u32)) {
  for (u32 x = 0; x < c->warps; x++)
    for (u32 n = 0; n < c->warp[x].waits; n++) {
      const Wait *t = &c->warp[x].wait[n];
      if (leaves_barrier(t, id)) f(&c->warp[x], &order_of(c)->gathered[id], t->mask);
    }
}

/* Makes what is before another point of the causality order known to a thread. */
void learn(Warp *w, u32 thread, const View *v) {
  Order *o = order_of(w->cta);
  Clocks *t = &o->clocks[thread];
  Worker *k = w->worker;
  if (!v->known && !v->fenced && !v->seen) return;
  o->far = true;
  join_clock(k, o->shape, &t->far, v->known);
  join_clock(k, o->shape, &t->fenced[DEVICE], v->fenced);
  join_clock(k, o->shape, &t->seen[DEVICE], v->seen);
  const Members *own = v->known ? members_of(o->shape, v->known, w->cta->number) : NULL;
  if (own && own->phase == phase_of(w->cta)) join_members(k, o->shape, &t->near, (Members *)own);
}

/* A full barrier has started a new phase, and the epochs begin again. */
static void complete_full(Cta *c) {
  Order *o = order_of(c);
  Gathered g = {0};
  const Clocks *before = NULL;
  for (u32 t = 0; o->far && t < o->threads; t++) {
    learn(&c->warp[t / LANES], t, &o->clocks[t].ticket);
    drop_view(o->shape, &o->clocks[t].ticket);
    before = gather_far(&c->warp[t / LANES], &g, t, before);
  }
  add_fences(c, &g);
  for (u32 t = 0; t < o->threads; t++) {
    drop_members(o->shape, &o->clocks[t].near);
    if (o->far) give_far(o, &g, &o->clocks[t]);
    o->epoch[t] = 1;
  }
  drop_gathered(o->shape, &g);
}

static void complete_barrier(Cta *c, u32 id, bool full) {
  Order *o = order_of(c);
  if (full) {
    complete_full(c);
  } else {
    each_waiting(c, id, gather);
    each_waiting(c, id, gather_own);
    add_fences(c, &o->gathered[id]);
    each_waiting(c, id, give);
  }
  drop_gathered(o->shape, &o->gathered[id]);
}

/* What is before a thread's next release, its own accesses included. */
View release_now(Warp *w, u32 thread) {
  Order *o = order_of(w->cta);
  const Clocks *t = &o->clocks[thread];
  Members *own = shared_clock(t->near);
  raise_epoch(w->worker, o->shape, &own, phase_of(w->cta), thread, o->epoch[thread]);
  View v = {.known = clock_with(w->worker, o->shape, t->far, w->cta->number, own),
            .fenced = shared_clock(t->fenced[DEVICE]), .seen = shared_clock(t->seen[DEVICE])};
  drop_members(o->shape, &own);
  return v;
}

/* What the thread's strong reads observed is acquired; what fences of other threads fenced, too, when
 * both fences are sequentially consistent: fence-SC order cannot contradict what was read. */
static void acquire_at_fence(Warp *w, u32 thread, u32 scope, bool sc) {
  Order *o = order_of(w->cta);
  Clocks *t = &o->clocks[thread];
  for (u32 x = scope; x < SCOPES; x++) {
    if (t->read[x].known || t->read[x].fenced || t->read[x].seen) {
      learn(w, thread, &t->read[x]);
      drop_view(o->shape, &t->read[x]);
    }
    if (!sc || !t->seen[x]) continue;
    View v = {.known = t->seen[x]};
    t->seen[x] = NULL;
    learn(w, thread, &v);
    drop_view(o->shape, &v);
  }
}

static void set_clock(Shape s, Clock **to, Clock *from) {
  from = shared_clock(from);
  drop_clock(s, to);
  *to = from;
}

/* Makes what the thread's last fence ordered what its strong writes release. */
void settle_fence(Warp *w, u32 thread) {
  Order *o = order_of(w->cta);
  Shape s = o->shape;
  Clocks *t = &o->clocks[thread];
  LastFence *l = &t->last;
  if (!l->set) return;
  raise_epoch(w->worker, s, &l->near, l->phase, thread, l->epoch);
  Clock *known = clock_with(w->worker, s, l->far, w->cta->number, l->near);
  for (u32 x = l->scope; x <= first_scope(w); x++) {
    if (l->sc && !l->joined) join_clock(w->worker, s, &t->fenced[x], known);
    set_clock(s, &t->fence[x].known, known);
    set_clock(s, &t->fence[x].fenced, l->sc && l->scope == DEVICE ? known : l->fenced);
    set_clock(s, &t->fence[x].seen, l->seen);
  }
  drop_clock(s, &known);
  drop_last_fence(s, l);
}

/* A fence stands for those before it, unless they order more. */
static void fence_thread(Warp *w, u32 thread, u32 scope, bool sc) {
  Order *o = order_of(w->cta);
  Clocks *t = &o->clocks[thread];
  LastFence *l = &t->last;
  acquire_at_fence(w, thread, scope, sc);
  if (l->scope < scope || (l->sc && !sc)) settle_fence(w, thread);
  if (l->near != t->near || l->far != t->far || l->fenced != t->fenced[DEVICE] || l->seen != t->seen[DEVICE]) {
    drop_last_fence(o->shape, l);
    l->near = shared_clock(t->near);
    l->far = shared_clock(t->far);
    l->fenced = shared_clock(t->fenced[DEVICE]);
    l->seen = shared_clock(t->seen[DEVICE]);
  }
  l->set = true;
  l->joined = false;
  l->sc = sc;
  l->scope = scope;
  l->phase = phase_of(w->cta);
  l->epoch = o->epoch[thread]++;
  o->far = true;
}

/* Races are those of any fence-SC order that what was read allows. Which values are old depends on one of them: the
 * order of execution, in which each fence.sc synchronizes with all that come later and have a scope with it. */
static void fence_in_turn(Warp *w, u32 thread, u32 scope) {
  Order *o = order_of(w->cta);
  View *all = &ledger_of(w->worker)->sc;
  learn(w, thread, &o->sc);
  if (scope == DEVICE) learn(w, thread, all);
  View now = release_now(w, thread);
  join_view(w->worker, o->shape, &o->sc, &now);
  if (scope == DEVICE) join_view(w->worker, o->shape, all, &now);
  drop_view(o->shape, &now);
}

static void fence(Warp *w, u32 flag) {
  u32 scope = flag & SCOPE_CTA ? BLOCK : DEVICE;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 thread = thread_of(w, first_lane(m));
    if (w->launch->gives_old && flag & FENCE_SC) fence_in_turn(w, thread, scope);
    fence_thread(w, thread, scope, flag & FENCE_SC);
  }
}

const Watcher order_watcher = {
    .listens = listens, .block_created = make, .block_started = start_block, .block_destroyed = discard,
    .worker_ended = discard_ledger, .warp_synced = sync_warp, .barrier_arrived = arrive_at_barrier,
    .barrier_completed = complete_barrier, .fence = fence};
