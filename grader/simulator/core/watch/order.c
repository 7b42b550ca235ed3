/* Orders finer than full barriers: __syncwarp, named barriers, fences with atomics.
 *
 * Vector clocks, kept small: a thread's clock always has its own warp's lanes, the other threads of
 * the block only after a named barrier, and other blocks as positions in the logs of releases. */
#include <stdlib.h>
#include <string.h>
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

static bool listens(const Launch *n) { return n->exact; }

static bool make_fences(Fences *f, u32 threads) {
  f->phase = calloc(threads, sizeof(u32));
  f->epoch = calloc(threads, sizeof(u32));
  return f->phase && f->epoch;
}

static void make(Cta *c) {
  Worker *k = c->worker;
  const Launch *n = k->launch;
  Order *o = c->state[order_slot] = calloc(1, sizeof *o);
  if (!ledger_of(k)) k->state[order_slot] = calloc(1, sizeof(Ledger));
  if (!o || !ledger_of(k)) { out_of_memory(k); return; }
  o->threads = c->nthreads;
  o->granules = (n->shared_bytes >> n->shared_shift) + 1;
  o->epoch = calloc(o->threads, sizeof(u32));
  bool fences = make_fences(&o->fence, o->threads) && make_fences(&o->narrow, o->threads);
  o->lanes = calloc((size_t)o->threads * LANES, sizeof(u32));
  o->far = calloc(o->threads, sizeof(u32 *));
  o->acquired = calloc(o->threads, sizeof(Acquired));
  o->head = calloc(o->granules, sizeof(Head));
  if (!fences || !o->epoch || !o->lanes || !o->far || !o->acquired || !o->head) out_of_memory(k);
}

static void reset_far(Order *o) {
  for (u32 t = 0; o->far && t < o->threads; t++) { free(o->far[t]); o->far[t] = NULL; }
  for (u32 b = 0; b < MAX_BARRIERS; b++) { free(o->gathered[b]); o->gathered[b] = NULL; }
  o->any_far = false;
}

static void reset_acquired(Order *o) {
  for (u32 t = 0; o->acquired && t < o->threads; t++) { free(o->acquired[t].position); o->acquired[t] = (Acquired){0}; }
  o->any_acquired = false;
}

static void discard(Cta *c) {
  Order *o = order_of(c);
  if (!o) return;
  reset_far(o);
  reset_acquired(o);
  free(o->common.position); free(o->epoch); free(o->fence.phase); free(o->fence.epoch);
  free(o->narrow.phase); free(o->narrow.epoch); free(o->lanes); free(o->far); free(o->acquired); free(o->head); free(o);
}

static void discard_ledger(Worker *k) {
  Ledger *g = ledger_of(k);
  if (!g) return;
  for (u32 j = 0; j < g->chains; j++) {
    for (u32 m = 0; m < g->chain[j].n; m++) free(g->chain[j].mark[m].each);
    free(g->chain[j].mark);
  }
  for (u32 j = 0; j < g->logs; j++) free(g->log[j].refs.position);
  free(g->chain); free(g->by_chain); free(g->log); free(g->by_key); free(g->node); free(g);
}

static void reset_clocks(Order *o, u32 phase) {
  o->phase = phase;
  for (u32 t = 0; t < o->threads; t++) o->epoch[t] = 1;
  memset(o->lanes, 0, (size_t)o->threads * LANES * sizeof(u32));
  if (o->any_far) reset_far(o);
}

static void start_block(Cta *c) {
  Order *o = order_of(c);
  reset_clocks(o, phase_of(c));
  memset(o->fence.phase, 0, o->threads * sizeof(u32));
  memset(o->narrow.phase, 0, o->threads * sizeof(u32));
  reset_acquired(o);
  o->common.n = 0;
  o->fence.any = o->narrow.any = false;
  memset(o->head, 0, o->granules * sizeof(Head));
}

void acquire(Worker *k, Acquired *to, Position s) {
  for (u32 j = 0; j < to->n; j++)
    if (to->position[j].log == s.log) {
      if (to->position[j].upto < s.upto) to->position[j].upto = s.upto;
      return;
    }
  Position *p = grown(to->position, &to->room, to->n + 1, sizeof(Position));
  if (!p) { out_of_memory(k); return; }
  to->position = p;
  to->position[to->n++] = s;
}
void acquire_all(Worker *k, Acquired *to, const Acquired *from) {
  for (u32 j = 0; j < from->n && !k->stop; j++) acquire(k, to, from->position[j]);
}

static u32 known_epoch(const Order *o, u32 thread, u32 other) {
  u32 e = thread / LANES == other / LANES ? o->lanes[thread * LANES + other % LANES] : 0;
  if (o->far[thread] && o->far[thread][other] > e) e = o->far[thread][other];
  return e;
}

/* bar.warp.sync: the clocks of the lanes are joined. */
static void sync_warp(Warp *w, u32 mask) {
  Order *o = order_of(w->cta);
  u32 joined[LANES] = {0}, *far = NULL;
  Acquired *joint = NULL;
  for (u32 m = mask; m; m &= m - 1) {
    u32 t = w->base + (u32)__builtin_ctz(m), *own = &o->lanes[t * LANES];
    for (u32 l = 0; l < LANES; l++) joined[l] = own[l] > joined[l] ? own[l] : joined[l];
    joined[t % LANES] = o->epoch[t];
    if (o->far[t] && !far) far = o->far[t];
    if (o->acquired[t].n && !joint) joint = &o->acquired[t];
  }
  for (u32 m = mask; far && m; m &= m - 1) {
    const u32 *from = o->far[w->base + (u32)__builtin_ctz(m)];
    for (u32 u = 0; from && u < o->threads; u++) far[u] = from[u] > far[u] ? from[u] : far[u];
  }
  for (u32 m = mask; joint && m; m &= m - 1)
    acquire_all(w->worker, joint, &o->acquired[w->base + (u32)__builtin_ctz(m)]);
  for (u32 m = mask; m; m &= m - 1) {
    u32 t = w->base + (u32)__builtin_ctz(m);
    memcpy(&o->lanes[t * LANES], joined, sizeof joined);
    o->epoch[t]++;
    if (far && !o->far[t]) o->far[t] = calloc(o->threads, sizeof(u32));
    if (far && !o->far[t]) { out_of_memory(w->worker); return; }
    if (far && o->far[t] != far) memcpy(o->far[t], far, o->threads * sizeof(u32));
    if (joint && joint != &o->acquired[t]) acquire_all(w->worker, &o->acquired[t], joint);
  }
}

static void gather(Worker *k, Order *o, u32 id, u32 t) {
  u32 *to = o->gathered[id];
  if (!to) to = o->gathered[id] = calloc(o->threads, sizeof(u32));
  if (!to) { out_of_memory(k); return; }
  for (u32 l = 0; l < LANES && t / LANES * LANES + l < o->threads; l++) {
    u32 u = t / LANES * LANES + l, e = o->lanes[t * LANES + l];
    to[u] = e > to[u] ? e : to[u];
  }
  for (u32 u = 0; o->far[t] && u < o->threads; u++) to[u] = o->far[t][u] > to[u] ? o->far[t][u] : to[u];
  if (o->epoch[t] > to[t]) to[t] = o->epoch[t];
  o->any_far = true;
}

/* bar.arrive releases what came before it and acquires nothing. */
static void arrive_at_barrier(Warp *w, u32 id, u32 mask) {
  Order *o = order_of(w->cta);
  for (; mask; mask &= mask - 1) {
    u32 t = w->base + (u32)__builtin_ctz(mask);
    gather(w->worker, o, id, t);
    o->epoch[t]++;
  }
}

static void each_waiting(Cta *c, u32 id, void (*f)(Worker *, Order *, u32, u32)) {
  for (u32 x = 0; x < c->warps; x++)
    for (u32 n = 0; n < c->warp[x].waits; n++) {
      const Wait *t = &c->warp[x].wait[n];
      if (t->membership || t->id != id) continue;
      for (u32 m = t->mask; m; m &= m - 1)
        f(c->warp[x].worker, order_of(c), id, c->warp[x].base + (u32)__builtin_ctz(m));
    }
}
static void join_gathered(Worker *k, Order *o, u32 id, u32 t) {
  if (!o->far[t]) o->far[t] = calloc(o->threads, sizeof(u32));
  if (!o->far[t] || !o->gathered[id]) { out_of_memory(k); return; }
  for (u32 u = 0; u < o->threads; u++)
    if (o->gathered[id][u] > o->far[t][u]) o->far[t][u] = o->gathered[id][u];
  o->epoch[t]++;
}

/* A full barrier has started a new phase, and the clocks begin again. */
static void complete_barrier(Cta *c, u32 id, bool full) {
  Order *o = order_of(c);
  Worker *k = c->worker;
  if (full) {
    for (u32 t = 0; o->any_acquired && t < o->threads; t++) acquire_all(k, &o->common, &o->acquired[t]);
    if (o->any_acquired) reset_acquired(o);
    reset_clocks(o, phase_of(c));
    return;
  }
  each_waiting(c, id, gather);
  each_waiting(c, id, join_gathered);
  free(o->gathered[id]);
  o->gathered[id] = NULL;
}

static void set_fence(Fences *f, u32 thread, u32 phase, u32 epoch) {
  f->phase[thread] = phase;
  f->epoch[thread] = epoch;
}

/* What the thread did before is released by its next atomic; to its own block alone when the scope of
 * the fence is .cta. */
static void set_fences(Warp *w, bool block_scope) {
  Order *o = order_of(w->cta);
  *(block_scope ? &o->narrow.any : &o->fence.any) = true;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 t = w->base + (u32)__builtin_ctz(m), epoch = o->epoch[t]++;
    set_fence(&o->narrow, t, phase_of(w->cta), epoch);
    if (!block_scope) set_fence(&o->fence, t, phase_of(w->cta), epoch);
  }
}

/* Whether an access of thread `other` of `block` is ordered before the present one of `thread`. */
bool ordered_before(Warp *w, u32 thread, u32 block, u32 phase, u32 other, u32 epoch) {
  const Cta *c = w->cta;
  const Order *o = order_of(c);
  const Ledger *g = ledger_of(w->worker);
  if (block == c->number) {
    if (phase < phase_of(c) || other == thread || known_epoch(o, thread, other) >= epoch) return true;
  }
  if (!g->released) return false;
  return covered(g, &o->common, block, phase, other, epoch) ||
         covered(g, &o->acquired[thread], block, phase, other, epoch);
}

const Watcher order_watcher = {
    .listens = listens, .block_created = make, .block_started = start_block, .block_destroyed = discard,
    .worker_ended = discard_ledger, .warp_synced = sync_warp, .barrier_arrived = arrive_at_barrier,
    .barrier_completed = complete_barrier, .fence = set_fences};
