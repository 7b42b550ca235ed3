/* Orders finer than full barriers: __syncwarp, named barriers, fences with atomics.
 *
 * Happens-before by vector clocks, kept small: a thread's clock has its own warp's lanes always,
 * the other threads of the block only once a named barrier taught it, and other blocks as
 * positions in the logs of releases. */
#include <stdlib.h>
#include <string.h>
#include "order.h"

void *grown(void *p, u32 *room, u32 want, size_t each) {
  if (want <= *room) return p;
  u32 more = *room ? 2 * *room : 64;
  if (more < want) more = want;
  void *q = realloc(p, (size_t)more * each);
  if (!q) return NULL;
  *room = more;
  return q;
}

Ledger *ledger_of(Warp *w) { return w->worker->ledger; }

static bool make_fences(Fences *f, u32 threads) {
  f->phase = calloc(threads, sizeof(u32));
  f->epoch = calloc(threads, sizeof(u32));
  return f->phase && f->epoch;
}

void make_order(Cta *c, Worker *k) {
  const Launch *n = k->launch;
  Order *o = c->order = calloc(1, sizeof *o);
  if (!k->ledger) k->ledger = calloc(1, sizeof(Ledger));
  if (!o || !k->ledger) { k->stop = k->no_memory = true; return; }
  o->threads = c->nthreads;
  o->granules = (n->shared_bytes >> n->shared_shift) + 1;
  o->epoch = calloc(o->threads, sizeof(u32));
  bool fences = make_fences(&o->fence, o->threads) && make_fences(&o->narrow, o->threads);
  o->lanes = calloc((size_t)o->threads * LANES, sizeof(u32));
  o->far = calloc(o->threads, sizeof(u32 *));
  o->known = calloc(o->threads, sizeof(Knowledge));
  o->head = calloc(o->granules, sizeof(Head));
  if (!fences || !o->epoch || !o->lanes || !o->far || !o->known || !o->head)
    k->stop = k->no_memory = true;
}

static void forget_far(Order *o) {
  for (u32 t = 0; o->far && t < o->threads; t++) { free(o->far[t]); o->far[t] = NULL; }
  for (u32 b = 0; b < MAX_BARRIERS; b++) { free(o->gathered[b]); o->gathered[b] = NULL; }
  o->any_far = false;
}

static void forget_known(Order *o) {
  for (u32 t = 0; o->known && t < o->threads; t++) { free(o->known[t].seen); o->known[t] = (Knowledge){0}; }
  o->any_known = false;
}

void free_order(Cta *c) {
  Order *o = c->order;
  if (!o) return;
  forget_far(o);
  forget_known(o);
  free(o->common.seen); free(o->epoch); free(o->fence.phase); free(o->fence.epoch);
  free(o->narrow.phase); free(o->narrow.epoch); free(o->lanes); free(o->far); free(o->known); free(o->head); free(o);
}

void free_ledger(Worker *k) {
  Ledger *g = k->ledger;
  if (!g) return;
  for (u32 j = 0; j < g->chains; j++) {
    for (u32 m = 0; m < g->chain[j].n; m++) free(g->chain[j].mark[m].each);
    free(g->chain[j].mark);
  }
  for (u32 j = 0; j < g->logs; j++) free(g->log[j].refs.seen);
  free(g->chain); free(g->by_chain); free(g->log); free(g->by_key); free(g->node); free(g);
}

static void reset_clocks(Order *o, u32 phase) {
  o->phase = phase;
  for (u32 t = 0; t < o->threads; t++) o->epoch[t] = 1;
  memset(o->lanes, 0, (size_t)o->threads * LANES * sizeof(u32));
  if (o->any_far) forget_far(o);
}

void reset_order(Cta *c) {
  Order *o = c->order;
  reset_clocks(o, c->phase);
  memset(o->fence.phase, 0, o->threads * sizeof(u32));
  memset(o->narrow.phase, 0, o->threads * sizeof(u32));
  forget_known(o);
  o->common.n = 0;
  o->fence.any = o->narrow.any = false;
  memset(o->head, 0, o->granules * sizeof(Head));
}

void learn(Worker *k, Knowledge *to, Seen s) {
  for (u32 j = 0; j < to->n; j++)
    if (to->seen[j].log == s.log) {
      if (to->seen[j].upto < s.upto) to->seen[j].upto = s.upto;
      return;
    }
  Seen *p = grown(to->seen, &to->room, to->n + 1, sizeof(Seen));
  if (!p) { k->stop = k->no_memory = true; return; }
  to->seen = p;
  to->seen[to->n++] = s;
}
void learn_all(Worker *k, Knowledge *to, const Knowledge *from) {
  for (u32 j = 0; j < from->n && !k->stop; j++) learn(k, to, from->seen[j]);
}

u32 known_epoch(const Order *o, u32 thread, u32 other) {
  u32 e = thread / LANES == other / LANES ? o->lanes[thread * LANES + other % LANES] : 0;
  if (o->far[thread] && o->far[thread][other] > e) e = o->far[thread][other];
  return e;
}

/* bar.warp.sync: each lane learns what all of them know. */
void watch_warp_sync(Warp *w, u32 mask) {
  Order *o = w->cta->order;
  if (!o) return;
  u32 joined[LANES] = {0}, *far = NULL;
  Knowledge *known = NULL;
  for (u32 m = mask; m; m &= m - 1) {
    u32 t = w->base + (u32)__builtin_ctz(m), *own = &o->lanes[t * LANES];
    for (u32 l = 0; l < LANES; l++) joined[l] = own[l] > joined[l] ? own[l] : joined[l];
    joined[t % LANES] = o->epoch[t];
    if (o->far[t] && !far) far = o->far[t];
    if (o->known[t].n && !known) known = &o->known[t];
  }
  for (u32 m = mask; far && m; m &= m - 1) {
    const u32 *from = o->far[w->base + (u32)__builtin_ctz(m)];
    for (u32 u = 0; from && u < o->threads; u++) far[u] = from[u] > far[u] ? from[u] : far[u];
  }
  for (u32 m = mask; known && m; m &= m - 1)
    learn_all(w->worker, known, &o->known[w->base + (u32)__builtin_ctz(m)]);
  for (u32 m = mask; m; m &= m - 1) {
    u32 t = w->base + (u32)__builtin_ctz(m);
    memcpy(&o->lanes[t * LANES], joined, sizeof joined);
    o->epoch[t]++;
    if (far && !o->far[t]) o->far[t] = calloc(o->threads, sizeof(u32));
    if (far && !o->far[t]) { w->worker->stop = w->worker->no_memory = true; return; }
    if (far && o->far[t] != far) memcpy(o->far[t], far, o->threads * sizeof(u32));
    if (known && known != &o->known[t]) learn_all(w->worker, &o->known[t], known);
  }
}

static void gather(Worker *k, Order *o, u32 id, u32 t) {
  u32 *to = o->gathered[id];
  if (!to) to = o->gathered[id] = calloc(o->threads, sizeof(u32));
  if (!to) { k->stop = k->no_memory = true; return; }
  for (u32 l = 0; l < LANES && t / LANES * LANES + l < o->threads; l++) {
    u32 u = t / LANES * LANES + l, e = o->lanes[t * LANES + l];
    to[u] = e > to[u] ? e : to[u];
  }
  for (u32 u = 0; o->far[t] && u < o->threads; u++) to[u] = o->far[t][u] > to[u] ? o->far[t][u] : to[u];
  if (o->epoch[t] > to[t]) to[t] = o->epoch[t];
  o->any_far = true;
}

/* bar.arrive hands over what came before it, and waits for nobody. */
void watch_arrive(Warp *w, u32 id, u32 mask) {
  Order *o = w->cta->order;
  for (; o && mask; mask &= mask - 1) {
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
        f(c->warp[x].worker, c->order, id, c->warp[x].base + (u32)__builtin_ctz(m));
    }
}
static void take_over(Worker *k, Order *o, u32 id, u32 t) {
  if (!o->far[t]) o->far[t] = calloc(o->threads, sizeof(u32));
  if (!o->far[t] || !o->gathered[id]) { k->stop = k->no_memory = true; return; }
  for (u32 u = 0; u < o->threads; u++)
    if (o->gathered[id][u] > o->far[t][u]) o->far[t][u] = o->gathered[id][u];
  o->epoch[t]++;
}

/* Before a barrier lets its threads go. A full one makes a new phase of it all. */
void join_barrier(Cta *c, u32 id, bool full) {
  Order *o = c->order;
  Worker *k = c->warp->worker;
  if (full) {
    for (u32 t = 0; o->any_known && t < o->threads; t++) learn_all(k, &o->common, &o->known[t]);
    if (o->any_known) forget_known(o);
    reset_clocks(o, c->phase + (1u << THREAD_BITS));
    return;
  }
  each_waiting(c, id, gather);
  each_waiting(c, id, take_over);
  free(o->gathered[id]);
  o->gathered[id] = NULL;
}

static void set_fence(Fences *f, u32 thread, u32 phase, u32 epoch) {
  f->phase[thread] = phase;
  f->epoch[thread] = epoch;
}

/* membar, fence: what the thread did before is released by its next atomic; to its own block
 * alone, when the fence's scope is .cta (flag). */
void ptx_fence(Warp *w, const Insn *i) {
  Order *o = w->cta->order;
  if (!o) return;
  *(i->flag ? &o->narrow.any : &o->fence.any) = true;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 t = w->base + (u32)__builtin_ctz(m), epoch = o->epoch[t]++;
    set_fence(&o->narrow, t, w->cta->phase, epoch);
    if (!i->flag) set_fence(&o->fence, t, w->cta->phase, epoch);
  }
}

/* Whether an access of thread `other` of `block` is ordered before the present one of `thread`. */
bool ordered_before(Warp *w, u32 thread, u32 block, u32 phase, u32 other, u32 epoch) {
  const Cta *c = w->cta;
  const Order *o = c->order;
  if (block == c->number) {
    if (phase < c->phase || other == thread || known_epoch(o, thread, other) >= epoch) return true;
  }
  if (!w->worker->ledger->released) return false;
  return covered(w->worker->ledger, &o->common, block, phase, other, epoch) ||
         covered(w->worker->ledger, &o->known[thread], block, phase, other, epoch);
}
